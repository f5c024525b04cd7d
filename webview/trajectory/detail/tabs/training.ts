/** What a trainer makes of a model call: its segment, its mask, and the advantage of its rollout. */
import type { Estimator } from '../../../../src/trace/groups/advantages.ts';
import { groupOf, memberAdvantages, type RewardGroup } from '../../../../src/trace/groups/group.ts';
import { advantageText, ESTIMATOR_NAMES } from '../../../../src/trace/groups/text.ts';
import type { ModelSpan } from '../../../../src/trace/model/spans.ts';
import type { TrajectoryModel } from '../../../../src/trace/model.ts';
import { attemptRow } from '../../../../src/trace/outcome.ts';
import { type BlobRef, type TokenRecord, tokenRecord } from '../../../../src/trace/schema.ts';
import { type SegmentCall, type Split, segmentsOf } from '../../../../src/trace/segments/segments.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';

export interface CallSegment {
  /** Number of the segment among those of the rollout, from 1. */
  readonly number: number;
  readonly call: SegmentCall;
  /** Why the segment begins with this call. */
  readonly split: Split | undefined;
}

/** Returns the segment of a call; undefined if the call is in none. Reads the token records of the calls up to it. */
export async function segmentOfCall(
  model: TrajectoryModel,
  call: ModelSpan,
  read: (ref: BlobRef) => Promise<unknown>,
): Promise<CallSegment | undefined> {
  const refs = model.events.flatMap((event): (readonly [number, BlobRef])[] => {
    if (event.kind !== 'model.start' || event.seq > call.seq) return [];
    const span = model.span(event.seq);
    const ref = span?.kind === 'model' ? span.end?.data.tokens : undefined;
    return ref === undefined ? [] : [[event.seq, ref]];
  });
  const records = await Promise.all(
    refs.map(async ([seq, ref]): Promise<readonly [number, TokenRecord]> => [seq, tokenRecord.parse(await read(ref))]),
  );
  const { rows } = segmentsOf(model, new Map(records));
  for (const [index, { calls, split }] of rows.entries()) {
    const at = calls.findIndex(({ seq }) => seq === call.seq);
    const own = calls[at];
    if (own !== undefined) return { number: index + 1, call: own, split: at === 0 ? split : undefined };
  }
  return undefined;
}

/**
 * Returns the advantage of a rollout, `+1.50 by ms-swift, 4 of 4 attempts count`, or why it has none. `rows`: of all
 * attempts of its task.
 */
export function advantageOfRollout(rows: readonly RolloutRow[], rollout: string, estimator: Estimator): string {
  const row = rows.find((each) => each.rollout === rollout);
  if (row === undefined) return 'unknown: the other attempts of its task are not loaded';
  const attempts = Math.max(...rows.map(({ attempt }) => attempt));
  const byAttempt = Array.from({ length: attempts }, (): RolloutRow[] => []);
  for (const each of rows) byAttempt[each.attempt - 1]?.push(each);
  const counting = byAttempt.map(attemptRow);
  if (counting[row.attempt - 1]?.rollout !== rollout) return 'none: another try counts for this attempt';
  const group = groupOf(counting, counting.length);
  const member = group.members[row.attempt - 1];
  if (member?.open === true) return 'none yet: the rollout has not ended';
  if (member?.why !== undefined) return `none: excluded, ${member.why}`;
  const advantage = memberAdvantages(group, estimator)[row.attempt - 1] ?? 0;
  return `${advantageText(advantage)} by ${ESTIMATOR_NAMES[estimator]}, ${groupText(group)}`;
}

function groupText({ scored, members, open, signal }: RewardGroup): string {
  if (signal === 'none') return 'no signal: all rewards are equal';
  return `${scored} of ${members.length} attempts count${open === 0 ? '' : `, ${open} open`}`;
}
