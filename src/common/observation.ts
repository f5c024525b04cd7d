/** Reads the observation in a reply of a world model, by the rules of Qwen-AgentWorld's evaluation. */
import { strip } from './pythonText.ts';
import { lastTagged, withoutThinking } from './taggedReply.ts';

/** Marks an observation in the turns of the published prompts. */
export const OBSERVATION_MARKER = '**Environment Observation:**';
const TAG = 'predicted_observation';

/**
 * Returns what the agent observes: the last `<predicted_observation>` block (an unclosed one reaches to the end), or
 * the whole reply without a tag. Thinking and the marker of the published prompts are left out. Returns undefined if
 * nothing is left.
 *
 * Source: the output parser of https://github.com/QwenLM/Qwen-AgentWorld, which answers "No output" then.
 */
export function observationOf(reply: string): string | undefined {
  const text = withoutThinking(reply, TAG);
  const observation = withoutMarker(lastTagged(text, TAG) ?? strip(text));
  return observation === '' ? undefined : observation;
}

/** Removes the marker of the published prompts from an observation: at its start, otherwise wherever it is. */
export function withoutMarker(text: string): string {
  return strip(
    text.startsWith(OBSERVATION_MARKER)
      ? text.slice(OBSERVATION_MARKER.length)
      : text.replaceAll(OBSERVATION_MARKER, ''),
  );
}
