/** Selects the events of the batch's stream that concern a rollout: its worker, its model server, and commands. */
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import type { EventOf, TraceEvent } from '../../../src/trace/schema.ts';

/** Commands to a whole batch that affect its rollouts. */
const OF_ALL: ReadonlySet<string> = new Set(['pause', 'resume', 'cancel', 'drain', 'breakpoints']);

/** Events of the server or the cluster concern all rollouts that ran at that time. */
const OF_ALL_WORKERS: ReadonlySet<string> = new Set(['cluster_away', 'cluster_back', 'server_back', 'workers_back']);

/** The end of a pod may be reported this long after another pod has taken over its rollouts. */
const LATE_MS = 30_000;

interface OutsideItem {
  readonly kind: 'infra' | 'control';
  readonly label: string;
  readonly text: string;
  readonly at: number;
  /** Duration, ending at `at`. */
  readonly ms: number;
}

/** Returns undefined if the event does not concern the rollout, or happened while it did not run. */
export function outsideItem(model: TrajectoryModel, event: TraceEvent): OutsideItem | undefined {
  const first = model.events[0]?.at;
  if (!model.timed || first === undefined || event.at < first || (model.end !== undefined && event.at > model.end.at))
    return undefined;
  if (event.kind === 'control') {
    const { verb, by, user = by, rollout } = event.data;
    if (rollout === undefined && !OF_ALL.has(verb)) return undefined;
    return {
      kind: 'control',
      label: verb,
      text: `${verb}${rollout === undefined ? ' of the batch' : ''}, by ${user}`,
      at: event.at,
      ms: 0,
    };
  }
  if (event.kind !== 'infra' || !isOurs(model, event)) return undefined;
  const { what, text, ms = 0 } = event.data;
  return { kind: 'infra', label: what.replaceAll('_', ' '), text, at: event.at, ms: Math.min(ms, event.at - first) };
}

function isOurs(model: TrajectoryModel, { at, data }: EventOf<'infra'>): boolean {
  // The stream was read without events of other rollouts.
  if (data.rollout !== undefined || OF_ALL_WORKERS.has(data.what)) return true;
  const held = model.leases.findLastIndex((lease) => lease.at <= at);
  const [now, before] = [model.leases[held], model.leases[held - 1]];
  const worker = now?.data.worker;
  if (worker !== undefined && (data.worker === worker || data.pod === worker)) return true;
  if (now !== undefined && before !== undefined && data.pod === before.data.worker && at - now.at < LATE_MS)
    return true;
  if (data.endpoint === undefined) return false;
  if (data.all_replicas === true) return true;
  // Steps are in order: this is the latest call before the event.
  const used = model.steps.findLast((step) => step.model !== undefined && step.model.start.at <= at)?.model?.start.data
    .endpoint;
  return used === undefined || used === data.endpoint;
}
