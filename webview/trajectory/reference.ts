/** The reference of what is selected, as the command line takes it. */
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
