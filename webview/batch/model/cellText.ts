/** Texts for an attempt: its accessible name, its state, and its reward. */
import { outcomeOf } from '../../../src/trace/outcome.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { holdLabel } from '../../../src/trace/text/labels.ts';
import { isDisputed } from '../../data/judged.ts';

/** `renew-late attempt 3: running, step 7`. */
export function cellName(task: string, attempt: number, row: RolloutRow | undefined, exists = true): string {
  if (!exists) return `${task} attempt ${attempt}: not needed so far`;
  return `${task} attempt ${attempt}: ${outcomeText(row)}${isDisputed(row) ? ', verdicts disagree' : ''}`;
}

function outcomeText(row: RolloutRow | undefined): string {
  if (row === undefined) return 'queued';
  const outcome = outcomeOf(row);
  const { step, steps } = row.progress;
  return outcome === 'running' && (step ?? steps) > 0 ? `running, step ${step ?? steps}` : outcome;
}

/** Returns the state of an attempt that has not ended: what it waits for, or where it is. */
export function stateText(row: RolloutRow | undefined): { readonly head: string; readonly text?: string } | undefined {
  if (row === undefined || row.state === 'queued') return { head: 'Waiting for a worker' };
  const { state, progress } = row;
  if (state === 'ended') return undefined;
  if (state === 'held' && progress.hold !== undefined) {
    const { why, side, breakpoint } = progress.hold;
    return {
      head: `Paused ${side} a call: ${holdLabel(why)}`,
      ...(breakpoint === undefined ? {} : { text: `Breakpoint ${breakpoint}` }),
    };
  }
  return { head: `At step ${progress.step ?? progress.steps}` };
}

/** Returns the reward with at least one decimal; undefined if there is none. */
export function rewardText(row: RolloutRow | undefined): string | undefined {
  const reward = row?.progress.reward;
  if (reward === undefined || reward === null) return undefined;
  return Number.isInteger(reward) ? reward.toFixed(1) : String(Math.round(reward * 1_000) / 1_000);
}
