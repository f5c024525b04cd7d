/** Where the page of an attempt that did not pass opens: at the reason. */
import { causeOf } from '../../src/trace/cause.ts';
import type { TrajectoryModel } from '../../src/trace/model.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import type { Split } from '../data/split.ts';
import { redMarks, type Spot } from './redMarks.ts';

interface Attempt {
  readonly rollout: string;
  readonly model: TrajectoryModel;
  readonly attempts: readonly RolloutRow[];
  readonly info: { readonly row: RolloutRow } | undefined;
  readonly split: Split | undefined;
}

/** Returns the newest row of an attempt: it may have changed since the page was opened. */
export function currentRow({ rollout, attempts, info }: Omit<Attempt, 'model' | 'split'>): RolloutRow | undefined {
  return attempts.find((row) => row.rollout === rollout) ?? info?.row;
}

/** `final`: nothing that arrives later can change it. */
export function reasonOf(attempt: Attempt): { readonly spot?: Spot; readonly final: boolean } {
  const { model, split } = attempt;
  const row = currentRow(attempt);
  if (row === undefined || row.state !== 'ended') return { final: false };
  const cause = causeOf(row);
  if (cause === undefined) return { final: true };
  if (cause.kind === 'limit') return { ...spotOf(model.steps.at(-1)?.seq), final: true };
  const check = redMarks(model).find((mark) => mark.seq === cause.seq && mark.check !== undefined);
  if (check !== undefined) return { spot: check, final: true };
  if (cause.kind === 'call' && cause.seq !== undefined) return { spot: { seq: cause.seq }, final: true };
  // Without a check, the place where it went another way says more than a score without parts.
  return split === undefined ? { ...spotOf(cause.seq), final: false } : { spot: { seq: split.seq }, final: true };
}

function spotOf(seq: number | undefined): { readonly spot?: Spot } {
  return seq === undefined ? {} : { spot: { seq } };
}
