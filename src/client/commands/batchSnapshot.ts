/** Reads a batch with all figures of the same moment, although it may be running. */
import { finish } from '../../common/piecewise.ts';
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { COUNT_NAMES, type CountName, countNameOf } from '../../trace/outcome.ts';
import { attemptRows } from '../../trace/statistics/outcomes.ts';
import type { RolloutRow } from '../../trace/summary.ts';

export interface BatchSnapshot {
  /** Its counts and totals are those of `rows`. */
  readonly batch: BatchRow;
  /** All tries of its attempts. */
  readonly rows: readonly RolloutRow[];
}

export async function batchSnapshot(api: Api, id: string, signal: AbortSignal): Promise<BatchSnapshot> {
  let before = await api.batch(id, signal);
  for (;;) {
    const rows = await Array.fromAsync(api.allRollouts(id, { all: 1 }, signal));
    const batch = await api.batch(id, signal);
    // If it ended while the rows were read, they are read once more: now nothing changes.
    if (batch.state !== 'ended' || batch.rev === before.rev) return { batch: withFigures(batch, rows), rows };
    before = batch;
  }
}

function withFigures(batch: BatchRow, rows: readonly RolloutRow[]): BatchRow {
  const counts = Object.fromEntries(COUNT_NAMES.map((name) => [name, 0])) as Record<CountName, number>; // all names
  const counting = finish(attemptRows(rows));
  for (const row of counting) counts[countNameOf(row)] += 1;
  // A batch that rescores another one has only the attempts that it scores, one for groups those of its groups,
  // and one with `adaptive` those that its tasks needed.
  if (batch.rescores === undefined && batch.groups === undefined && batch.adaptive === undefined)
    counts.queued += Math.max(0, batch.tasks * batch.attempts - counting.length);
  const sum = (of: (progress: RolloutRow['progress']) => number): number =>
    rows.reduce((total, { progress }) => total + of(progress), 0);
  const side = {
    input: sum((progress) => progress.side?.input_tokens ?? 0),
    output: sum((progress) => progress.side?.output_tokens ?? 0),
  };
  const { side_tokens: _older, ...rest } = batch;
  return {
    ...rest,
    ...(side.input + side.output === 0 ? {} : { side_tokens: side }),
    counts,
    truncated: counting.filter(({ settles, progress }) => settles && progress.status === 'truncated').length,
    steps: sum(({ steps }) => steps),
    input_tokens: sum(({ input_tokens: tokens }) => tokens),
    output_tokens: sum(({ output_tokens: tokens }) => tokens),
  };
}
