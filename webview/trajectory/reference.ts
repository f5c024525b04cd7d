/** Returns the reference of the selection, as used on the command line. */
import type { TrajectorySession } from './session.ts';

export function referenceOf({ data, seq }: TrajectorySession): string {
  const step = data.model.stepOf(seq);
  const exact =
    step?.model?.seq === seq || seq === 0
      ? step === undefined || step.index === 0
        ? ''
        : `:${step.index}`
      : `@${seq}`;
  return `${data.rollout}${exact}`;
}
