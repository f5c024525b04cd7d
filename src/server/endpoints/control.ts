/**
 * What trainers announce about model endpoints: it is kept in the store, passed on to the workers of all its servers,
 * and answered when no call is in flight anymore.
 */
import { endpointKey } from '../../common/endpointKey.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { plural } from '../../common/text.ts';
import { agentsOf, type Submission } from '../../config/submission.ts';
import type { ServerInfo } from '../../protocol/client.ts';
import {
  type Announced,
  type EndpointInfo,
  PAUSE_SECONDS,
  type SetEndpoint,
  WAIT_SECONDS,
} from '../../protocol/endpoints.ts';
import {
  ENDPOINT_CALLS,
  ENDPOINTS_CHANGED,
  type EndpointChange,
  type EndpointRecord,
  versionOf,
} from '../../store/endpointStore.ts';
import type { Store } from '../../store/store.ts';
import { controlledOf, resolved } from '../batches/endpoints.ts';
import type { Changes } from '../changes.ts';
import type { BackPressure } from '../pressure/backPressure.ts';
import { Throttle } from '../throttle.ts';
import {
  type Engine,
  enginesOf,
  pauseEngines,
  refuseRouters,
  resumeEngines,
  setVersion,
  withoutRouters,
} from './engines.ts';
import { LongPauses } from './longPauses.ts';
import { type InFlight, inFlightOf, isUsing } from './reports.ts';
import { resolveTarget } from './target.ts';

interface SubmittedBatch {
  readonly submission: Submission;
  readonly values: Readonly<Record<string, string>>;
}

interface EndpointControlOptions {
  readonly store: Pick<Store, 'endpoints' | 'addBatchEvent'>;
  readonly changes: Pick<Changes, 'on'>;
  readonly pressure: () => Pick<BackPressure, 'known' | 'users'>;
  /** Returns the submission of a batch, and the values of its variables that this server has. */
  readonly submissionOf: (batch: string) => Promise<SubmittedBatch | undefined>;
  /** Passes the announcements on to the workers of this server. */
  readonly announce: () => Promise<void>;
  readonly log: Log;
}

/** Sessions of lost workers end without a report. */
const LOOK_EVERY_MS = 1_000;

export class EndpointControl {
  readonly #options: EndpointControlOptions;
  readonly #unwatch: (() => void)[];
  readonly #refresh: Throttle;
  readonly #long: LongPauses;
  #records: readonly EndpointRecord[] = [];

  constructor(options: EndpointControlOptions) {
    this.#options = options;
    const { changes, log } = options;
    this.#long = new LongPauses({
      ...options,
      batchesOf: (endpoint) => this.#batchesOf(endpoint),
      hasReplicas: (endpoint) => this.#hasReplicas(endpoint),
    });
    this.#refresh = new Throttle(
      0,
      () => this.read().then(() => undefined),
      (error) => log(`reading the announcements of endpoints failed: ${errorText(error)}`, { level: 'error' }),
    );
    this.#unwatch = [changes.on(ENDPOINTS_CHANGED, () => this.#refresh.request(true))];
  }

  close(): void {
    for (const end of this.#unwatch) end();
    this.#refresh.close();
    this.#long.close();
  }

  /** What workers must know. */
  announced(): Announced {
    return announcedOf(this.#records);
  }

  /** Reads the store again, and tells workers what is new. Returns what they must know. */
  async read(): Promise<Announced> {
    const { store, announce } = this.#options;
    const records = await store.endpoints.list();
    const before = this.announced().rev;
    const now = announcedOf(records);
    // A read that was faster than this one may know more.
    if (now.rev < before) return this.announced();
    this.#records = records;
    if (now.rev > before) {
      this.#long.watch(records);
      await announce();
    }
    return now;
  }

  /** Returns what was announced about an endpoint, or about the replica at a URL, for people. */
  about(endpoint: string, replica?: string): Pick<ServerInfo['endpoints'][number], 'pause' | 'weights'> {
    const key = endpointKey(endpoint);
    const url = replica === undefined ? undefined : endpointKey(replica);
    const pause = this.#records.find(
      (one) => one.paused && one.endpoint === key && (one.replica === undefined || one.replica.url === url),
    );
    const version = versionOf(this.#records, key, url);
    return {
      ...(pause === undefined ? {} : { pause: { by: pause.by, since: pause.since } }),
      ...(version === undefined ? {} : { weights: String(version) }),
    };
  }

  /** Returns the state of all endpoints that are in use or were announced, and of replicas that were announced. */
  async list(): Promise<EndpointInfo[]> {
    const { store, pressure } = this.#options;
    await this.read();
    const reports = await store.endpoints.calls();
    const infos = new Map<string, EndpointInfo>();
    for (const record of this.#records) {
      const now = inFlightOf(record, reports, pressure().users());
      infos.set(JSON.stringify([record.endpoint, record.replica?.name]), this.#infoOf(record, now));
    }
    for (const endpoint of this.#inUse()) {
      const key = JSON.stringify([endpoint, undefined]);
      if (infos.has(key)) continue;
      const { calls } = inFlightOf({ endpoint, rev: 0 }, reports, pressure().users());
      infos.set(key, { endpoint, state: 'serving', calls });
    }
    return [...infos.values()].sort(
      (a, b) => compare(a.endpoint, b.endpoint) || compare(a.replica ?? '', b.replica ?? ''),
    );
  }

  /**
   * Returns the version of the weights that an agent of a batch, by its instance path, is served by now; the newest one
   * if it has several endpoints.
   */
  async versionsFor(batch: string): Promise<(agent: string) => number | undefined> {
    const found = await this.#options.submissionOf(batch);
    await this.read();
    const records = this.#records;
    const models = new Map(
      found === undefined ? [] : agentsOf(found.submission).map(({ name, model }) => [name, model.endpoints]),
    );
    return (agent) => {
      const name = agent.split('/').at(-1)?.split('#')[0] ?? '';
      const urls = resolved(models.get(name) ?? [], found?.values ?? {});
      const versions = urls.flatMap((url) => versionOf(records, endpointKey(url)) ?? []);
      return versions.length === 0 ? undefined : Math.max(...versions);
    };
  }

  /**
   * Announces. For `paused`, the answer comes when nothing is in flight; the pause remains if `signal` aborts or that
   * takes too long. Throws `not_found` for an endpoint that nobody uses, `conflict` for a version that goes backward or
   * a pause that somebody else ended, `unsupported` for engines behind a router, and `unavailable` after
   * `wait_seconds`.
   */
  async set(request: SetEndpoint, signal: AbortSignal): Promise<EndpointInfo> {
    const { store, pressure } = this.#options;
    await this.read();
    const reports = await store.endpoints.calls();
    const target = resolveTarget(request, { inUse: pressure().known(), records: this.#records, reports });
    const before = this.#records.filter((one) => one.endpoint === target.endpoint);
    const change: EndpointChange = {
      ...target,
      paused: request.state !== 'serving',
      mode: request.mode ?? 'wait',
      version: request.version,
      force: request.force === true,
      by: request.by ?? 'trainer',
      limitMs: Math.round((request.pause_seconds ?? PAUSE_SECONDS) * 1000),
    };
    if (change.paused) await refuseRouters(await this.#engines(change), signal);
    else await this.#resumeEngines(change, signal);
    const record = await store.endpoints.set(change);
    await this.read();
    if (!record.paused) await this.#long.ended(before, record);
    const now =
      request.state === 'paused'
        ? await this.#nothingInFlight(record, request.wait_seconds ?? WAIT_SECONDS, signal)
        : await this.#inFlight(record);
    return this.#infoOf(record, now);
  }

  #infoOf({ endpoint, replica, paused, mode, by, since }: EndpointRecord, now: InFlight): EndpointInfo {
    const version = versionOf(this.#records, endpoint, replica?.url);
    return {
      endpoint,
      ...(replica === undefined ? {} : { replica: replica.name }),
      state: paused ? (isSettled(now) ? 'paused' : 'pausing') : 'serving',
      ...(version === undefined ? {} : { version }),
      calls: now.calls,
      ...(paused ? { mode } : {}),
      by,
      since,
    };
  }

  /** Resumes the engines that the server controls, with their new version, before workers call them again. */
  async #resumeEngines(change: EndpointChange, signal: AbortSignal): Promise<void> {
    const all = await this.#engines(change);
    if (all.length === 0) return;
    const paused = this.#records.find(
      (one) => one.paused && one.endpoint === change.endpoint && one.replica?.name === change.replica?.name,
    );
    // A pause must end, also where a router has come since.
    if (paused === undefined) await refuseRouters(all, signal);
    const engines = paused === undefined ? all : await withoutRouters(all, signal);
    if (change.version !== undefined) {
      // A version that goes backward is refused before the engines learn of it.
      if (paused !== undefined)
        await this.#options.store.endpoints.set({ ...paused, version: change.version, force: change.force });
      await setVersion(engines, change.version, signal);
    }
    await resumeEngines(engines, signal);
  }

  async #engines(of: Pick<EndpointChange, 'endpoint' | 'replica'>): Promise<Engine[]> {
    const { submissionOf, pressure } = this.#options;
    const all = await Promise.all(
      this.#batchesOf(of.endpoint).map(async (batch) => {
        const found = await submissionOf(batch);
        return found === undefined ? [] : controlledOf(found.submission, found.values);
      }),
    );
    return enginesOf(of, all.flat(), pressure().known());
  }

  async #inFlight(record: EndpointRecord): Promise<InFlight> {
    const { store, pressure } = this.#options;
    return inFlightOf(record, await store.endpoints.calls(), pressure().users());
  }

  async #nothingInFlight(record: EndpointRecord, seconds: number, signal: AbortSignal): Promise<InFlight> {
    const { changes } = this.#options;
    const end = performance.now() + seconds * 1000;
    let changed = Promise.withResolvers<undefined>();
    const onNews = (): void => changed.resolve(undefined);
    const unwatch = [changes.on(ENDPOINT_CALLS, onNews), changes.on(ENDPOINTS_CHANGED, onNews)];
    signal.addEventListener('abort', onNews);
    try {
      for (;;) {
        changed = Promise.withResolvers();
        const now = await this.#inFlight(record);
        const current = await this.#options.store.endpoints.list();
        const mine = current.find(
          (one) => one.endpoint === record.endpoint && one.replica?.name === record.replica?.name,
        );
        if (mine?.paused !== true)
          throw new StudioError('conflict', `${mine?.by ?? 'Somebody'} resumed ${record.endpoint} during the pause.`);
        if (isSettled(now)) {
          await pauseEngines(await this.#engines(record), record.mode, end - performance.now(), signal);
          return now;
        }
        if (signal.aborted) throw new StudioError('cancelled', `Nobody waits for the pause of ${record.endpoint}.`);
        const left = end - performance.now();
        if (left <= 0) throw tooLong(record, now, seconds);
        const timer = setTimeout(onNews, Math.min(left, LOOK_EVERY_MS));
        await changed.promise;
        clearTimeout(timer);
      }
    } finally {
      for (const stop of unwatch) stop();
      signal.removeEventListener('abort', onNews);
    }
  }

  #inUse(): Set<string> {
    return new Set([...this.#options.pressure().known().keys()].map(endpointKey));
  }

  #hasReplicas(endpoint: string): boolean {
    return [...this.#options.pressure().known()].some(
      ([name, replicas]) => endpointKey(name) === endpoint && replicas.length > 0,
    );
  }

  #batchesOf(endpoint: string): string[] {
    return [...this.#options.pressure().users()].flatMap(([batch, use]) => (isUsing(use, endpoint) ? [batch] : []));
  }
}

function isSettled({ calls, unconfirmed }: InFlight): boolean {
  return calls === 0 && unconfirmed === 0;
}

function tooLong({ endpoint }: EndpointRecord, { calls, unconfirmed }: InFlight, seconds: number): StudioError {
  const what = [
    ...(calls > 0 ? [`${plural(calls, 'call')} still in flight`] : []),
    ...(unconfirmed > 0 ? [`${plural(unconfirmed, 'worker')} did not confirm`] : []),
  ];
  return new StudioError('unavailable', `${endpoint} is not paused after ${seconds} s: ${what.join(', ')}.`, {
    hint: 'No new call starts. Send the request again to wait longer, with mode `abort`, or with state `serving`.',
    details: { calls, unconfirmed },
  });
}

function announcedOf(records: readonly EndpointRecord[]): Announced {
  return {
    rev: Math.max(0, ...records.map(({ rev }) => rev)),
    endpoints: records.map(({ endpoint, replica, paused, mode, by, version, versionRev }) => ({
      endpoint,
      ...(replica === undefined ? {} : { replica: replica.url }),
      ...(paused ? { paused: mode, by } : {}),
      ...(version === undefined ? {} : { version }),
      version_rev: versionRev,
    })),
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
