/** The filter of a batch, asked when one of its groups is delivered for the first time. */
import { Readable } from 'node:stream';
import type { FinishedGroupRecord } from '../../store/groupStore.ts';
import type { RolloutRecord, Store } from '../../store/store.ts';
import { compileFilter, DRIFT_REASONS, groupValues } from '../../trace/groups/filter.ts';
import { segmentsOf } from '../../trace/segments/segments.ts';
import { readTrajectory } from './trajectory.ts';

/** Members whose tokens are read at the same time. */
const AT_A_TIME = 4;

/**
 * Returns why the filter leaves a group out; null if it does not. The answer is recorded, and the same at each delivery
 * by any server: verdicts that arrive later do not change it. `members`: those that count, at least one.
 */
export async function filterMembers(
  store: Store,
  { row, filtered }: FinishedGroupRecord,
  members: readonly RolloutRecord[],
  text: string,
  signal: AbortSignal,
): Promise<string | null> {
  if (filtered !== undefined) return filtered.why;
  if (members.length === 0) return null; // the batch is being removed
  const filter = compileFilter(text);
  const rows = members.map((member) => member.row);
  const values = groupValues(rows, filter.needsDrift ? await driftedMembers(store, members, signal) : 0);
  const result = filter.test(values);
  const decision = { why: result.ok ? null : result.why, tokens: values.tokens };
  return (await store.filterGroup(row.batch, row.group, decision)).why;
}

async function driftedMembers(store: Store, members: readonly RolloutRecord[], signal: AbortSignal): Promise<number> {
  const hasDrifted = async (member: RolloutRecord): Promise<boolean> => {
    const { model, tokens } = await readTrajectory(store, member);
    return segmentsOf(model, tokens).rows.some(({ split }) => split !== undefined && DRIFT_REASONS.has(split.why));
  };
  const drifted: AsyncIterable<boolean> = Readable.from(members).map(hasDrifted, { concurrency: AT_A_TIME, signal });
  let count = 0;
  for await (const isDrifted of drifted) if (isDrifted) count += 1;
  return count;
}
