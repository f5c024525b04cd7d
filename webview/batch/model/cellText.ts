/** Texts for an attempt: its accessible name and its verdict. */
import { outcomeOf } from '../../../src/trace/outcome.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { errorLabel, holdLabel } from '../../../src/trace/text/labels.ts';

/** `renew-late attempt 3: running, step 7`. */
export function cellName(task: string, attempt: number, row: RolloutRow | undefined): string {
  return `${task} attempt ${attempt}: ${outcomeText(row)}`;
}

function outcomeText(row: RolloutRow | undefined): string {
  if (row === undefined) return 'queued';
  const outcome = outcomeOf(row);
  const { step, steps } = row.progress;
  return outcome === 'running' && (step ?? steps) > 0 ? `running, step ${step ?? steps}` : outcome;
}

/** Returns the most important fact first: the error, what it waits for, or the reward. */
export function verdictOf({ state, progress }: RolloutRow): { readonly head: string; readonly text?: string } {
  if (state === 'held' && progress.hold !== undefined) {
    const { why, side, breakpoint } = progress.hold;
    return {
      head: `Paused ${side} a call: ${holdLabel(why)}`,
      ...(breakpoint === undefined ? {} : { text: `Breakpoint ${breakpoint}` }),
    };
  }
  if (progress.error_class !== undefined) {
    return {
      head: `${sentence(errorLabel(progress.error_class))}, step ${progress.step ?? progress.steps}`,
      ...(progress.error_message === undefined ? {} : { text: progress.error_message }),
    };
  }
  if (state === 'queued') return { head: 'Waiting for a worker' };
  if (state !== 'ended') return { head: `At step ${progress.step ?? progress.steps}` };
  const reward = progress.reward === undefined || progress.reward === null ? '' : `, reward ${progress.reward}`;
  if (progress.passed === true) return { head: `Passed${reward}` };
  if (progress.passed === false) return { head: `Failed${reward}` };
  return { head: progress.status === 'cancelled' ? 'Cancelled' : `Unscored${reward}` };
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
