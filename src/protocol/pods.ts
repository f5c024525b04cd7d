/**
 * The pods of a batch, or its worker processes on this machine: `GET /v1/batches/<id>/pods`. A log is text:
 * `GET /v1/batches/<id>/pods/<name>/log?container=…&tail=<lines>&follow=1`.
 */
import { z } from 'zod';

const int = z.number().int();

export const POD_STATES = ['pending', 'starting', 'running', 'ending', 'ended', 'failed'] as const;
export type PodState = (typeof POD_STATES)[number];

const podContainer = z.object({
  name: z.string(),
  image: z.string(),
  state: z.enum(['waiting', 'running', 'ended']),
  ready: z.boolean(),
  restarts: int.min(0),
  /** Why it waits, or how it ended: `ImagePullBackOff`, `OOMKilled`, … */
  reason: z.string().optional(),
  text: z.string().optional(),
  exit_code: int.optional(),
  started_at: int.optional(),
});
export type PodContainer = z.infer<typeof podContainer>;

/** What the cluster says about a pod. Clusters keep this for about an hour. */
const podEvent = z.object({
  at: int,
  warning: z.boolean(),
  reason: z.string(),
  text: z.string(),
  count: int.min(1),
});
export type PodEvent = z.infer<typeof podEvent>;

/** What an executor knows of a pod, or of a process. */
const executorPod = z.object({
  name: z.string(),
  kind: z.enum(['pod', 'process']),
  state: z.enum(POD_STATES),
  node: z.string().optional(),
  ready: z.boolean(),
  restarts: int.min(0),
  /** Why it is in this state, in one word of the cluster, and as a sentence. */
  reason: z.string().optional(),
  text: z.string().optional(),
  image: z.string().optional(),
  created_at: int.optional(),
  started_at: int.optional(),
  /** Whether the server can show a log of it. */
  log: z.boolean(),
  containers: z.array(podContainer),
  events: z.array(podEvent),
});
export type ExecutorPod = z.infer<typeof executorPod>;

/** Returns a worker that is a process. `log`: whether the server has its output. */
export function workerProcess(name: string, log: boolean, startedAt?: number): ExecutorPod {
  return {
    name,
    kind: 'process',
    state: 'running',
    ready: true,
    restarts: 0,
    log,
    ...(startedAt === undefined ? {} : { started_at: startedAt }),
    containers: [],
    events: [],
  };
}

export const podInfo = executorPod.extend({
  /** Rollouts that its worker holds now. */
  rollouts: z.array(z.object({ rollout: z.string(), task: z.string(), attempt: int, held: z.boolean() })),
});
export type PodInfo = z.infer<typeof podInfo>;

export const podList = z.object({
  pods: z.array(podInfo),
  /** Why there are none, or what is missing. */
  text: z.string().optional(),
});
export type PodList = z.infer<typeof podList>;

/** Lines of a log that are sent before it is followed. */
export const LOG_TAIL = { usual: 1_000, most: 100_000 } as const;

export interface PodLogOptions {
  readonly container?: string | undefined;
  /** The last lines only. */
  readonly tail?: number | undefined;
  /** Goes on until the container ends. */
  readonly follow?: boolean | undefined;
}
