/** Estimates how many calls of an agent fit in the context of the model that plays its world. */
import { count } from '../../common/units.ts';
import type { SubmittedSimulatedWorld } from '../submission/world.ts';
import { EXAMPLE, estimatedTokens } from './text.ts';

export interface ContextMeter {
  /** How many calls with their results fit. Undefined if the context of the model is not known. */
  readonly turns: number | undefined;
  /** Tokens of the model's context, if known. */
  readonly context: number | undefined;
  /** Tokens of the system prompt, and whether the endpoint counted them. */
  readonly system: number;
  readonly exact: boolean;
  /** Tokens of a call with its result, and whether they are those of recorded calls. */
  readonly turn: number;
  readonly measured: boolean;
}

/** Tokens of a call with its result, without recorded ones: those of the tools of a desk. */
export const ASSUMED_TURN_TOKENS = 600;

/** Returns the meter. `reply`: tokens that a reply may have, which must stay free. */
export function contextMeter(
  { context, system, exact, turn, measured }: Omit<ContextMeter, 'turns'>,
  reply: number,
): ContextMeter {
  const turns = context === undefined ? undefined : Math.max(0, Math.floor((context - system - reply) / turn));
  return { turns, context, system, exact, turn, measured };
}

/** Returns the meter in words. */
export function meterText({ turns, context, system, exact, turn, measured }: ContextMeter): string {
  const parts =
    `system prompt ${exact ? '' : 'about '}${count(system)} tokens, ` +
    `${count(turn)} per call (${measured ? 'as recorded' : 'assumed'})`;
  return context === undefined || turns === undefined
    ? `the context of its model is not known: ${parts}`
    : `about ${count(turns)} calls fit in the context of ${count(context)} tokens: ${parts}`;
}

/** Returns the tokens of a recorded call with its result, on average; undefined without recorded demonstrations. */
export function measuredTurn({ texts, literal }: SubmittedSimulatedWorld): number | undefined {
  const { demonstrations } = texts;
  if (demonstrations === undefined || literal?.includes('demonstrations') !== true) return undefined;
  const calls = demonstrations.split(EXAMPLE).length - 1;
  return calls < 1 ? undefined : Math.ceil(estimatedTokens(demonstrations) / calls);
}
