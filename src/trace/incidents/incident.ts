import { z } from 'zod';

/**
 * - worker: workers were lost, and others continued their rollouts.
 * - server: the server was restarted, or workers lost the connection to it.
 * - model: requests to models failed and were made again.
 * - pause: calls of models waited while a trainer changed the weights.
 * - scorer: scorers reached their limit of time.
 * - request: a trainer requested groups again.
 * - lost: rollouts ended because of the infrastructure.
 * - other: what the server reported besides.
 */
export const INCIDENT_KINDS = ['worker', 'server', 'model', 'pause', 'scorer', 'request', 'lost', 'other'] as const;

/** What happened outside of the agents of a batch. */
export const incident = z.object({
  kind: z.enum(INCIDENT_KINDS),
  /** How often: lost workers, restarts, repeated requests, calls, attempts, lost rollouts. */
  count: z.number().int().min(0),
  /** What happened and what became of it, in one line without a period. */
  text: z.string(),
});
export type Incident = z.infer<typeof incident>;
