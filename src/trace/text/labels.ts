/** Labels of recorded values, as texts for people. */
import type { EventData, WaitReason } from '../schema.ts';

/** Returns `invalid arguments` for the error class `invalid_arguments`. */
export function errorLabel(errorClass: string): string {
  return errorClass.replaceAll('_', ' ');
}

/** Returns why a rollout is held, for the reason of a hold. */
export function holdLabel(why: string): string {
  return HOLDS[why] ?? why.replaceAll('_', ' ');
}

const HOLDS: Readonly<Record<string, string>> = {
  breakpoint: 'breakpoint',
  pause: 'paused',
  step: 'stepping',
  input: 'waiting for an answer',
  lost_server: 'server lost',
};

/** Returns what was opened: `library (module)`, or `library (code), scenario gofundme`. */
export function worldLabel({ world, kind, scenario }: EventData['world.open']): string {
  return `${world} (${kind})${scenario === undefined ? '' : `, scenario ${scenario}`}`;
}

/** Returns what a side model is called: `Simulated user` for `user`; its own name if the product does not know it. */
export function sideLabel(side: string): string {
  return SIDES[side] ?? side;
}

const SIDES: Readonly<Record<string, string>> = {
  user: 'Simulated user',
  judge: 'Judge',
  world: 'World model',
  shadow: 'Shadow',
  lookahead: 'Look-ahead',
};

/** What a model call waited for, by the reason in its record. */
export const WAITED_FOR: Readonly<Record<WaitReason, string>> = {
  priority: 'batches of a higher priority',
  share: 'the share of others',
  tokens: 'the limit on tokens per hour',
};
