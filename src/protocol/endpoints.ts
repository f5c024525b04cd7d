/**
 * What a trainer announces about a model endpoint: `POST /v1/endpoints` pauses it, resumes it, and gives the version of
 * its weights. `GET /v1/endpoints` returns the state of all.
 */
import { z } from 'zod';

const int = z.number().int();

/** Longest time that a request waits for the calls in flight. */
const MAX_WAIT_SECONDS = 3600;
const MAX_PAUSE_SECONDS = 7 * 24 * 3600;
/** People are told about longer pauses. */
export const PAUSE_SECONDS = 600;
export const WAIT_SECONDS = 600;

const pauseMode = z.enum(['wait', 'abort']);

export const setEndpoint = z.strictObject({
  /** As in the agent file, without what is secret in it. */
  endpoint: z.string().min(1).max(2000),
  /** Name or URL of one of its replicas. Default: all of them. */
  replica: z.string().min(1).max(2000).optional(),
  /**
   * `pausing`: no call starts anymore; the answer comes immediately. `paused`: the answer comes when nothing is in
   * flight. `serving`: calls start again.
   */
  state: z.enum(['pausing', 'paused', 'serving']),
  /** Version of the weights that the endpoint serves from now on. Default: unchanged. */
  version: int.min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  /** Allows a version that is older than the current one. */
  force: z.boolean().optional(),
  /** What happens to running calls: they end by themselves, or are aborted and made again later. Default: `wait`. */
  mode: pauseMode.optional(),
  /** How long to wait until nothing is in flight. The pause remains if that takes longer. */
  wait_seconds: z.number().positive().max(MAX_WAIT_SECONDS).optional(),
  /** After this time, people are told that their batch waits for the end of the pause. */
  pause_seconds: z.number().positive().max(MAX_PAUSE_SECONDS).optional(),
  /** Who announces it, for people. */
  by: z.string().min(1).max(200).optional(),
});
export type SetEndpoint = z.infer<typeof setEndpoint>;

export const endpointInfo = z.object({
  endpoint: z.string(),
  replica: z.string().optional(),
  /** `pausing`: calls are still in flight, or a worker has not confirmed the pause yet. */
  state: z.enum(['pausing', 'paused', 'serving']),
  version: int.optional(),
  /** Model calls in flight, as the workers reported last. */
  calls: int,
  /** During a pause. */
  mode: pauseMode.optional(),
  /** Who paused or resumed it last, and when (milliseconds since the epoch). */
  by: z.string().optional(),
  since: int.optional(),
});
export type EndpointInfo = z.infer<typeof endpointInfo>;

export const endpointList = z.object({ endpoints: z.array(endpointInfo) });

// ---- between server and workers -----------------------------------------------------------------------------------

/** What workers must know of what was announced. `rev` grows with each change. */
export const announced = z.object({
  rev: int.min(0),
  endpoints: z.array(
    z.object({
      endpoint: z.string(),
      /** The URL of the only replica that it is about. */
      replica: z.string().optional(),
      paused: pauseMode.optional(),
      /** Who paused it. */
      by: z.string().optional(),
      version: int.optional(),
      /** Of several versions, that with the highest number counts. */
      version_rev: int,
    }),
  ),
});
export type Announced = z.infer<typeof announced>;

/** The calls of a worker in flight, by endpoint and URL of the replica. `rev`: of the newest announcement. */
export const callsInFlight = z.object({
  rev: int.min(0),
  calls: z
    .array(z.object({ endpoint: z.string().max(2000), replica: z.string().max(2000).optional(), calls: int.min(0) }))
    .max(1000),
});
export type CallsInFlight = z.infer<typeof callsInFlight>;
