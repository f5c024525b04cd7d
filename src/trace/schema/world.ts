import { z } from 'zod';
import { int, json, sha } from './parts.ts';

export const change = z.object({
  table: z.string().optional(),
  file: z.string().optional(),
  key: json,
  op: z.enum(['insert', 'update', 'delete']),
  before: json.optional(),
  after: json.optional(),
});
export type Change = z.infer<typeof change>;

/**
 * What a rollout of a published world came to, as Agent World Model tells it apart. `format`: the agent's calls had a
 * form that cannot be run. `environment_error`: the world failed, so nobody can say.
 */
export const WORLD_OUTCOMES = ['complete', 'partial', 'agent_error', 'format', 'environment_error'] as const;
export const worldOutcome = z.enum(WORLD_OUTCOMES);
export type WorldOutcome = z.infer<typeof worldOutcome>;

/** `real`: that of the machine. */
const clock = z.union([z.literal('real'), z.object({ start: z.string(), step: z.number() })]);

/** Data of `world.open`. */
export const worldOpen = z.object({
  world: z.string(),
  kind: z.string(),
  /** Of a world with many scenarios: the opened one, its initial state, and what its code takes for now. */
  scenario: z.string().optional(),
  template: sha.optional(),
  /** `step`: seconds that pass at each call. */
  clock: clock.optional(),
  seed: int.optional(),
  from: sha.optional(),
});
