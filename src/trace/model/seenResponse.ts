import type { Json } from '../../common/json.ts';
import type { TrajectoryModel } from '../model.ts';
import { responseIn } from './messages.ts';
import type { ToolSpan } from './spans.ts';

/**
 * Returns what the agent saw of a call: the response in its message, with edits and what a rule made of it. undefined
 * while the call is open, and if it was not recorded.
 */
export function seenResponse(model: TrajectoryModel, span: ToolSpan): Json | undefined {
  if (span.end === undefined) return undefined;
  const { m, made } = span.end.data;
  const message = m === undefined ? undefined : model.currentMessage(m);
  const seen = message === undefined ? undefined : responseIn(message.event.data.parts, span.start.data.call);
  if (seen !== undefined) return seen;
  // Some recordings have results without messages.
  return made === false ? undefined : model.resultOf(span)?.value;
}
