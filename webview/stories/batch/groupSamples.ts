/** Sample batches as trainers use them: graded rewards, versions of the weights, tries again, and changed attempts. */
import type { Progress, RolloutRow } from '../../../src/trace/summary.ts';
import { type BatchOptions, type SampleBatch, sampleBatch } from './sampleBatch.ts';

/** Every seventh task passes always, and every ninth never, so both have no signal. */
const PASSES = (task: number): number => {
  const index = Math.round(task * 100);
  return index % 7 === 3 ? 1 : index % 9 === 4 ? 0 : 1 - task;
};

/** `versions`: number of versions of the weights. */
export function groupsBatch(options: BatchOptions, versions = 0): SampleBatch {
  const sample = sampleBatch({ passes: PASSES, ...options });
  const rows = sample.rows.flatMap((row): RolloutRow[] => {
    if (row.state !== 'ended') return [row];
    const changed = { ...row, progress: { ...row.progress, ...changes(row, versions, sample.batch.attempts) } };
    if (row.attempt !== 5 || row.task_index % 4 !== 0) return [changed];
    const lost: Progress = { ...row.progress, status: 'infrastructure', passed: null, reward: null };
    return [
      { ...changed, try: 2 },
      { ...changed, rollout: `${row.rollout}t1`, settles: false, rev: row.rev + 100_000, progress: lost },
    ];
  });
  const delivered = { filtered: { groups: 3, tokens: 41_200 }, replayed: { groups: 2, rollouts: 4 } };
  const row = { ...sample.batch, rev: sample.batch.rev + 200_000 };
  return { ...sample, batch: versions > 0 ? { ...row, delivered, ...controls(sample.batch.tasks) } : row, rows };
}

/** A budget that some of the tasks used, and a band that moved. */
function controls(tasks: number): Pick<SampleBatch['batch'], 'budget' | 'curriculum'> {
  const left = { too_hard: 9, too_easy: 4, unknown: 3 };
  const band = { keep: [0.1, 0.9], refresh: 50 } satisfies Partial<SampleBatch['batch']['curriculum']>;
  return {
    budget: { tokens: 80_000, spent: 6 },
    curriculum: { by: 'b01hq', kept: tasks, ...left, ...band, outside: 7, outside_attempts: 52, moves: 4 },
  };
}

function changes(
  { attempt, task_index: index, progress }: RolloutRow,
  versions: number,
  attempts: number,
): Partial<Progress> {
  const at = Math.floor((versions * (attempt - 1)) / attempts);
  const isGraded = progress.reward === 0 && index % 3 === 0 && attempt % 4 === 2;
  return {
    ...(versions > 0
      ? { weights: { desk: [String(7 + at), String(Math.min(6 + versions, 7 + at + (attempt % 2)))] } }
      : {}),
    ...(isGraded ? { reward: 0.25 } : {}),
    ...(versions > 0 && index % 4 === 1 && attempt === 2 ? { drifts: 3 } : {}),
    ...(index % 5 === 2 && attempt === 3 ? { touched: true } : {}),
    ...(index % 6 === 1 && attempt === 6 ? { status: 'cancelled', passed: null, reward: null } : {}),
  };
}
