/** What happened to a rollout outside of its agent, as its row counts it: every append updates the row. */
import { z } from 'zod';
import type { EventData, Pause } from '../schema.ts';
import { byVersion } from '../weights.ts';

const int = z.number().int().min(0);

export const rolloutIncidents = z.object({
  /** How often another worker continued it. */
  resumed: int.optional(),
  /** How often a worker that had to stop handed it over, rather than being lost. */
  handed_over: int.optional(),
  /** Requests to models that failed and were made again, by endpoint and by class of the failure. */
  repeated: z.record(z.string(), z.record(z.string(), int)).optional(),
  /**
   * Calls of models that waited for the end of a pause or were interrupted by one, the longest wait in ms, requests
   * that pauses aborted, the newest version of the weights after them, and whose pauses they were.
   */
  paused: z
    .object({
      calls: int,
      ms: z.number().min(0),
      aborted: int,
      weights: z.string().optional(),
      /** Who paused what: names by endpoint or replica. Absent in rows of earlier versions. */
      by: z.record(z.string(), z.array(z.string())).optional(),
    })
    .optional(),
  /** How its scorer reached its limit of time. */
  scorer: z.string().optional(),
});
export type RolloutIncidents = z.infer<typeof rolloutIncidents>;

/** Characters of a text in a row. */
const MAX_TEXT = 200;

/** Returns the incidents after a worker took a rollout. */
export function afterLease(
  before: RolloutIncidents | undefined,
  { how }: EventData['rollout.lease'],
): RolloutIncidents | undefined {
  return how === 'resumed' ? { ...before, resumed: (before?.resumed ?? 0) + 1 } : before;
}

/** Returns the incidents after a worker handed a rollout over. */
export function afterHandover(before: RolloutIncidents | undefined): RolloutIncidents {
  return { ...before, handed_over: (before?.handed_over ?? 0) + 1 };
}

/** Returns the incidents after a call of a model. Calls whose replies are recorded were counted before. */
export function afterCall(
  before: RolloutIncidents | undefined,
  { source, retries, paused_ms: ms, aborted = 0, weights, pause }: EventData['model.end'],
): RolloutIncidents | undefined {
  if (source !== 'live' || (retries === undefined && ms === undefined)) return before;
  const after = { ...before };
  for (const { endpoint = '', class: failure } of retries ?? []) {
    const own = after.repeated?.[endpoint];
    after.repeated = { ...after.repeated, [endpoint]: { ...own, [failure]: (own?.[failure] ?? 0) + 1 } };
  }
  if (ms !== undefined) after.paused = addPauses(before?.paused, { calls: 1, ms, aborted, weights, by: byOf(pause) });
  return after;
}

/** Returns the incidents after a score of the whole rollout. */
export function afterScore(
  before: RolloutIncidents | undefined,
  { error }: EventData['score'],
): RolloutIncidents | undefined {
  return error?.class === 'timeout' ? { ...before, scorer: error.message.slice(0, MAX_TEXT) } : before;
}

type Pauses = NonNullable<RolloutIncidents['paused']>;

/** Endpoints in a row, and names of each. */
const MAX_PAUSES = 8;

function byOf(pause: Pause | undefined): Pauses['by'] {
  return pause === undefined ? undefined : { [pause.endpoint]: pause.by === undefined ? [] : [pause.by] };
}

function mergeBy(a: Pauses['by'], b: Pauses['by']): Pauses['by'] {
  if (a === undefined || b === undefined) return a ?? b;
  const merged = new Map(Object.entries(a));
  for (const [endpoint, names] of Object.entries(b)) {
    const own = merged.get(endpoint);
    if (own !== undefined || merged.size < MAX_PAUSES)
      merged.set(endpoint, [...new Set([...(own ?? []), ...names])].slice(0, MAX_PAUSES));
  }
  return Object.fromEntries(merged);
}

/** Returns the sum of the pauses. */
export function addPauses(before: Pauses | undefined, { calls, ms, aborted, weights, by: whose }: Pauses): Pauses {
  const by = mergeBy(before?.by, whose);
  const named = by === undefined ? {} : { by };
  if (before === undefined) return { calls, ms, aborted, ...(weights === undefined ? {} : { weights }), ...named };
  const newest = [before.weights, weights]
    .filter((one) => one !== undefined)
    .sort(byVersion)
    .at(-1);
  return {
    calls: before.calls + calls,
    ms: Math.max(before.ms, ms),
    aborted: before.aborted + aborted,
    ...(newest === undefined ? {} : { weights: newest }),
    ...named,
  };
}
