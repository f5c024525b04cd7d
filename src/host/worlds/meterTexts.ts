/** Texts of context meters in the editor and in the launch form. Does not depend on VS Code. */
import { count } from '../../common/units.ts';
import type { Choice } from '../window/questions/answer.ts';
import type { ShownMeter } from './contextMeters.ts';

/** Returns how many calls fit, or what is known of it. */
export function meterSummary({ turns, context, steps, system, exact, turn, asked }: ShownMeter): string {
  if (turns !== undefined) {
    const fit = `About ${count(turns)} ${turns === 1 ? 'call fits' : 'calls fit'}`;
    return steps === undefined
      ? `${fit} in the context of ${count(context ?? 0)} tokens`
      : `${fit}, but the agent may make ${steps} steps`;
  }
  const tokens = `System prompt ${exact ? '' : 'about '}${count(system)} tokens, ${count(turn)} per call`;
  return asked ? `${tokens}. The endpoint does not say how long its context is` : tokens;
}

/** Returns whether an agent may make more calls than fit. */
export function isTight({ steps }: ShownMeter): boolean {
  return steps !== undefined;
}

/** Returns what to do about a meter; undefined if there is nothing to do. */
export function meterHint({ turns, steps, asked }: ShownMeter): string | undefined {
  if (turns === undefined)
    return asked ? 'Set `context` in the world file.' : 'Select to ask the endpoint how many calls fit.';
  return steps === undefined
    ? undefined
    : 'Shorten its state, limit the steps of the agent, or serve the model with a longer context.';
}

/** Returns a choice for each world: it asks the endpoint. */
export function meterChoices(meters: readonly ShownMeter[]): Omit<Choice<unknown>, 'value'>[] {
  return meters.map((meter) => {
    const hint = meterHint(meter);
    return {
      label: `Context of ${meter.world}`,
      description: meterSummary(meter),
      ...(hint === undefined ? {} : { detail: hint }),
      icon: isTight(meter) ? 'warning' : 'dashboard',
    };
  });
}
