/** A tool call that an engine could not parse and left in the text. */
interface CutOffCall {
  readonly before: string;
  readonly name: string;
  /** The text of the call, as the model wrote it. */
  readonly raw: string;
}

const MARK = '<tool_call>';

/**
 * Finds a call that vLLM left in `content`, because `max_tokens` or a stop string cut it off or because it is not valid
 * JSON: `<tool_call>\n{"name": "renew", "argum`. As an answer, it would end the rollout. Returns undefined if there is
 * no such call or its name cannot be read.
 */
export function cutOffCall(text: string): CutOffCall | undefined {
  const at = text.indexOf(MARK);
  if (at < 0) return undefined;
  const raw = text.slice(at + MARK.length);
  const name = /"name"\s*:\s*"([^"\\]+)"/.exec(raw)?.[1];
  return name === undefined ? undefined : { before: text.slice(0, at), name, raw: raw.trim() };
}
