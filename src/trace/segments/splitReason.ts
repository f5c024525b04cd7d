import { ordinalsOf } from '../model/ordinals.ts';
import type { ModelSpan } from '../model/spans.ts';
import type { TrajectoryModel } from '../model.ts';

/**
 * Why the prompt of a call does not begin with the tokens before it.
 *
 * - compaction: messages of the earlier prompt were dropped or summarized.
 * - edit: a person replaced a message of it.
 * - injected: a message was put between its messages.
 * - unparsed: the earlier reply has a tool call that did not parse, and the template writes it in another form.
 * - reasoning: the template drops the reasoning of the earlier reply.
 * - arguments: the template writes the arguments of its tool calls in another form, such as without spaces.
 * - tokens: the template writes the same messages in another form.
 */
export const SPLIT_REASONS = [
  'compaction',
  'edit',
  'injected',
  'unparsed',
  'reasoning',
  'arguments',
  'tokens',
] as const;
export type SplitReason = (typeof SPLIT_REASONS)[number];

/**
 * Returns why the prompt of `next` does not continue the tokens of `previous`, a call of the same agent. `offset`:
 * position of the first token that differs in the completion of `previous`; negative in its prompt.
 */
export function splitReason(model: TrajectoryModel, previous: ModelSpan, next: ModelSpan, offset: number): SplitReason {
  const reply = previous.end?.data.m;
  const earlier = [...ordinalsOf(previous.start.data.context), ...(reply === undefined ? [] : [reply])];
  const later = ordinalsOf(next.start.data.context);
  const has = new Set(later);
  for (const m of earlier) {
    if (has.has(m)) continue;
    // An edited message takes the place of the original.
    const { editedBy } = model.message(m) ?? {};
    return editedBy !== undefined && has.has(model.currentMessage(m)?.m ?? m) ? 'edit' : 'compaction';
  }
  if (earlier.some((m) => isEditedBetween(model, m, previous.seq, next.seq))) return 'edit';
  if (earlier.some((m, index) => later[index] !== m)) return 'injected';
  const parts = reply === undefined ? [] : (model.message(reply)?.event.data.parts ?? []);
  const calls = parts.flatMap((part) => (part.type === 'tool_call' ? [part] : []));
  if (calls.some(({ arguments: args }) => typeof args === 'string')) return 'unparsed';
  if (offset < 0) return 'tokens';
  const hasReasoning = parts.some((part) => part.type === 'reasoning');
  if (hasReasoning && offset <= (previous.end?.data.usage?.reasoning_tokens ?? 0)) return 'reasoning';
  return calls.length > 0 ? 'arguments' : 'tokens';
}

function isEditedBetween(model: TrajectoryModel, m: number, from: number, to: number): boolean {
  const at = model.message(m)?.editedBy?.event.seq;
  return at !== undefined && at > from && at < to;
}
