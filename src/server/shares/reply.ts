/** Builds what `GET /v1/shares` returns. */
import type { ShareLimits } from '../../config/schema/sharesFile.ts';
import type { ShareRow, SharesReply } from '../../protocol/shares.ts';
import type { Store } from '../../store/store.ts';
import { type Caller, sees } from '../access/caller.ts';
import type { Owner } from './settings.ts';
import type { TrackedShare } from './shares.ts';
import { type WaitingSources, waitingBatches } from './waiting.ts';

const DAY_MS = 24 * 60 * 60_000;

export interface ReplySources extends WaitingSources {
  readonly store: Pick<Store, 'usage' | 'now' | 'sessions'>;
  /** Whether workers are pods. */
  readonly hasPods: boolean;
}

/** Use of pods in the last day. */
interface PodHours extends Owner {
  readonly gpu: number;
  readonly cpu: number;
}

/** Returns the shares as a caller may see them. */
export async function sharesReply(sources: ReplySources, caller: Caller): Promise<SharesReply> {
  const { shares, store } = sources;
  const { settings, usage } = shares;
  const [totals, pods] = await Promise.all([
    store.now().then((now) => store.usage.podTotals({ since: now - DAY_MS })),
    sources.hasPods ? store.sessions() : [],
  ]);
  const podsOf = new Map<string, number>();
  for (const { batch } of pods) podsOf.set(batch, (podsOf.get(batch) ?? 0) + 1);
  const hours = totals.map(
    ({ queue, user, cpuSeconds, gpuSeconds }): PodHours => ({
      queue: queue === '' ? undefined : queue,
      user,
      cpu: cpuSeconds / 3_600,
      gpu: gpuSeconds / 3_600,
    }),
  );
  const tracked = [...shares.tracked.values()].filter(isOpen);
  const all = usage.minute(() => true);
  const entitled = entitlements(tracked, settings.queues.length > 0, (batch) => shares.shareOf(batch));
  const row = async (kind: ShareRow['kind'], name: string, limits: ShareLimits): Promise<ShareRow> => {
    const isOwn = (owner: Owner): boolean => owner[kind] === name;
    const own = tracked.filter(({ owner }) => isOwn(owner));
    const sum = (value: (one: TrackedShare) => number): number => own.reduce((total, one) => total + value(one), 0);
    const used = hours.filter(isOwn);
    const { tokens_per_hour: tokenLimit } = limits;
    const freeMs =
      tokenLimit === undefined || usage.hour(isOwn) < tokenLimit ? undefined : await usage.freeIn(isOwn, tokenLimit);
    return {
      kind,
      name,
      weight: limits.weight ?? 1,
      entitled: Math.min(1, entitled.get(`${kind} ${name}`) ?? 0),
      used: all === 0 ? 0 : usage.minute(isOwn) / all,
      batches: own.length,
      rollouts: {
        running: sum(({ record }) => record.row.counts.running),
        held: sum(({ record }) => record.row.counts.held),
        queued: sum(({ record }) => record.row.counts.queued),
        ...(limits.rollouts === undefined ? {} : { limit: limits.rollouts }),
      },
      pods: {
        running: sum(({ record }) => podsOf.get(record.row.batch) ?? 0),
        ...(limits.pods === undefined ? {} : { limit: limits.pods }),
      },
      tokens: {
        hour: usage.hour(isOwn),
        ...(tokenLimit === undefined ? {} : { limit: tokenLimit }),
        ...(freeMs === undefined ? {} : { free_ms: freeMs }),
      },
      gpu_hours: used.reduce((total, { gpu }) => total + gpu, 0),
      cpu_hours: used.reduce((total, { cpu }) => total + cpu, 0),
    };
  };
  const users = new Set([
    ...settings.users,
    ...tracked.map(({ owner }) => owner.user),
    ...usage.owners().map(({ user }) => user),
    ...hours.map(({ user }) => user),
    // So that a launch can show what is left.
    caller.user ?? '',
  ]);
  const waiting = waitingBatches(sources);
  return {
    rows: await Promise.all([
      ...settings.queues.map((name) => row('queue', name, settings.queue(name))),
      ...[...users].sort().map((name) => row('user', name, settings.user(name))),
    ]),
    ahead: byPriority(waiting),
    waiting: waiting.filter(({ tracked: { record } }) => sees(caller, record.row)).map((one) => one.waiting),
    own: { kind: 'user', name: caller.user ?? '' },
    queues: settings.queues,
  };
}

function byPriority(waiting: ReturnType<typeof waitingBatches>): { priority: number; batches: number }[] {
  const batches = new Map<number, number>();
  for (const { tracked, waiting: of } of waiting) {
    if (of.why === 'paused') continue;
    const { priority } = tracked.record.spec;
    batches.set(priority, (batches.get(priority) ?? 0) + 1);
  }
  return [...batches]
    .map(([priority, number]) => ({ priority, batches: number }))
    .sort((a, b) => b.priority - a.priority);
}

function isOpen({ record }: TrackedShare): boolean {
  const { queued, running, held } = record.row.counts;
  return queued + running + held > 0;
}

/** Returns the parts of queues and users that can use something now, of everything. */
function entitlements(
  tracked: readonly TrackedShare[],
  hasQueues: boolean,
  shareOf: (batch: string) => { readonly queueWeight: number; readonly userWeight: number },
): Map<string, number> {
  const queues = new Map<string, { readonly weight: number; readonly users: Map<string, number> }>();
  for (const { record, owner } of tracked) {
    if (record.paused) continue;
    const { queueWeight, userWeight } = shareOf(record.row.batch);
    const name = owner.queue ?? '';
    const queue = queues.get(name) ?? { weight: queueWeight, users: new Map<string, number>() };
    queues.set(name, queue);
    queue.users.set(owner.user, userWeight);
  }
  const parts = new Map<string, number>();
  const all = sumOf([...queues.values()].map(({ weight }) => weight));
  for (const [name, { weight, users }] of queues) {
    if (hasQueues) parts.set(`queue ${name}`, weight / all);
    const ofUsers = sumOf([...users.values()]);
    for (const [user, own] of users)
      parts.set(`user ${user}`, (parts.get(`user ${user}`) ?? 0) + ((weight / all) * own) / ofUsers);
  }
  return parts;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
