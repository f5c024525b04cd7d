import { type SubmittedCodeWorld, TEMPLATE_TIME } from '../../config/submission/world.ts';

const STEP_SECONDS = 1;

/** Returns the clock of a world as the runner takes it; null: the machine's. */
export function clockOf({ clock }: SubmittedCodeWorld): { readonly start_ms: number; readonly step_ms: number } | null {
  if (clock === 'real') return null;
  const { start, step } = clock ?? { start: TEMPLATE_TIME, step: STEP_SECONDS };
  return { start_ms: Date.parse(start), step_ms: step * 1000 };
}
