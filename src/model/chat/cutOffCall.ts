/** A tool call that an engine could not parse and left in the text. */
interface CutOffCall {
  readonly before: string;
  readonly name: string;
  /** What the model wrote of the call, as it is. */
  readonly raw: string;
}

const MARK = '<tool_call>';

/**
 * vLLM leaves a call that `max_tokens` or a stop word cut off, or that is not valid JSON, in `content`:
 * `<tool_call>\n{"name": "renew", "argum`. Taken for an answer, it would end the rollout as if the model were done.
 * undefined when there is no such call or its name cannot be read.
 */
export function cutOffCall(text: string): CutOffCall | undefined {
  const at = text.indexOf(MARK);
  if (at < 0) return undefined;
  const raw = text.slice(at + MARK.length);
  const name = /"name"\s*:\s*"([^"\\]+)"/.exec(raw)?.[1];
  return name === undefined ? undefined : { before: text.slice(0, at), name, raw: raw.trim() };
}
