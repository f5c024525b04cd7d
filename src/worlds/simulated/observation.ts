/** Reads the observation in a reply of a world model, by the rules of Qwen-AgentWorld's evaluation. */

const MARKER = '**Environment Observation:**';
const OPENING = '<predicted_observation>';
const CLOSING = '</predicted_observation>';

/**
 * Returns what the agent observes: the last `<predicted_observation>` block (an unclosed one reaches to the end), or
 * the whole reply without a tag. Thinking and the marker of the published prompts are left out. Returns undefined if
 * nothing is left.
 *
 * Source: the output parser of https://github.com/QwenLM/Qwen-AgentWorld, which answers "No output" then.
 */
export function observationOf(reply: string): string | undefined {
  const text = withoutThinking(reply);
  const start = text.lastIndexOf(OPENING);
  const tagged = start === -1 ? text : text.slice(start + OPENING.length);
  const end = start === -1 ? -1 : tagged.indexOf(CLOSING);
  const observation = (end === -1 ? tagged : tagged.slice(0, end)).replace(MARKER, '').trim();
  return observation === '' ? undefined : observation;
}

/**
 * Removes `<think>` blocks. Without its opening tag, everything before `</think>` is thinking; without its closing tag,
 * everything up to the observation's tag, or to the end.
 */
function withoutThinking(reply: string): string {
  const text = reply.replaceAll(/<think>[\s\S]*?<\/think>/g, '');
  const closed = text.lastIndexOf('</think>');
  const rest = closed === -1 ? text : text.slice(closed + '</think>'.length);
  const open = rest.indexOf('<think>');
  if (open === -1) return rest;
  const tag = rest.indexOf(OPENING, open);
  return rest.slice(0, open) + (tag === -1 ? '' : rest.slice(tag));
}
