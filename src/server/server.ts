/** Assembles the rollout server. Everything durable is in the store. */

import { errorText } from '../common/errors.ts';
import { newId } from '../common/ids.ts';
import type { Log } from '../common/log.ts';
import { PRODUCT } from '../common/product.ts';
import { publicUrl } from '../common/redaction/hidable.ts';
import type { Executor } from '../executor/executor.ts';
import { readOnlyError } from '../store/sqlite/readOnlySqlite.ts';
import { OPERATOR } from './access/caller.ts';
import { Guard } from './access/guard.ts';
import { Logins } from './access/logins.ts';
import { Tokens } from './access/tokens.ts';
import type { UserSession } from './access/userSession.ts';
import { requireInstalled } from './batches/installedModels.ts';
import { Retention } from './batches/retention.ts';
import { Secrets } from './batches/secrets.ts';
import { Submissions } from './batches/submissions.ts';
import { Supervisor } from './batches/supervisor.ts';
import { Changes } from './changes.ts';
import { ClientConnection } from './clients/connection.ts';
import { Debuggers } from './clients/debuggers.ts';
import { Deltas } from './clients/deltas.ts';
import { EndpointControl } from './endpoints/control.ts';
import { executorHost } from './executorHost.ts';
import { BatchGroups } from './groups/batchGroups.ts';
import { Router } from './http/router.ts';
import { Listener } from './listener.ts';
import { BackPressure } from './pressure/backPressure.ts';
import { drain } from './process/drain.ts';
import { Idle } from './process/idle.ts';
import { allRoutes } from './routes/all.ts';
import { serverInfo } from './serverInfo.ts';
import type { RolloutServerOptions } from './serverOptions.ts';
import type { Services } from './services.ts';
import { openShares } from './shares/open.ts';
import { StoreHealth } from './storeHealth.ts';
import { Counters } from './telemetry/counters.ts';
import { openTraceExport } from './telemetry/otlp/open.ts';
import { Scrape } from './telemetry/scrape.ts';
import { BlobQuota } from './workers/blobQuota.ts';
import { WorkerConnection, type WorkerContext } from './workers/connection.ts';
import { Hub } from './workers/hub.ts';
import { Leasing } from './workers/leasing.ts';
import { PodEnrollment } from './workers/podEnrollment.ts';
import { Returns } from './workers/returns.ts';
import { SessionAccess } from './workers/sessionAccess.ts';
import { endTampered } from './workers/tampering.ts';

/** How long a trainer may be silent before a server without work ends. */
const TRAINER_MS = 60 * 60 * 1_000;

interface RolloutServer {
  /** Address at which this machine reaches the server. */
  readonly host: string;
  readonly port: number;
  /** For `server.json`. */
  readonly token: string;
  readonly readToken: string;
  readonly startedAt: number;
  /**
   * Reports not ready, stops leasing, stops the workers of its executor, finishes pending work (see process/drain.ts),
   * closes connections, and then the store.
   */
  stop(): Promise<void>;
}

/** Starts a server on an open store. Throws `unavailable` when it cannot listen; the caller then closes the store. */
export async function startServer(options: RolloutServerOptions): Promise<RolloutServer> {
  const { store } = options;
  const secrets = new Secrets(options.secretsFolder);
  const log: Log = (text, about) => options.log(secrets.line(text), about);
  const tokens = new Tokens(await store.secretKey(), options.tokens);
  const logins = new Logins({ tokens, reviewer: options.reviewer, log });
  const startedAt = await store.now();
  const serverId = newId('s');
  const changes = new Changes(store);
  const { addresses: installed = {}, servers: modelServers = [] } = options.models ?? {};
  const submissions = new Submissions(store.blobs, installed);
  const health = new StoreHealth(log);
  store.watchOutage((why) => health.outage(why));
  const counters = new Counters();
  const clients = new Set<ClientConnection>();
  let draining = false;

  // Parts that depend on each other get functions that are called only once all of them exist.
  let port = 0;
  const origin = (): string => {
    const host = reachable(options.listen.host);
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  };
  const hub: Hub = new Hub({
    store,
    changes,
    log,
    shares: () => pressure.shares(),
    replicas: (batch) => pressure.replicas(batch),
    announced: () => endpoints.announced(),
  });
  const endpoints: EndpointControl = new EndpointControl({
    store,
    changes,
    log,
    pressure: () => pressure,
    submissionOf: async (batch) => {
      const record = await store.batch(batch);
      if (record === undefined) return undefined;
      return { submission: await submissions.get(record.spec.submission), values: (await secrets.get(batch)) ?? {} };
    },
    announce: () => hub.announce(),
  });
  const returns = new Returns((batch, infra) => {
    store
      .addBatchEvent(batch, 'infra', secrets.clean(batch, infra))
      .catch((error: unknown) =>
        log(`recording returned workers of ${batch} failed: ${errorText(error)}`, { level: 'error', batch }),
      );
  });
  const deltas: Deltas = new Deltas((rollout, on) => hub.watch(rollout, on));
  const opened = openShares(options.shares ?? {}, {
    store,
    log,
    hub: () => hub,
    leasing: () => leasing,
    supervisor: () => supervisor,
    executor: () => late.executor,
    submissions,
    modelServers,
    replicas: (endpoint) => pressure.known().get(endpoint)?.length,
  });
  const { shares } = opened;
  const pressure: BackPressure = new BackPressure({
    callers: () => hub.callers(),
    replicas: options.replicas,
    label: (endpoint) => secrets.line(publicUrl(endpoint)),
    announced: (endpoint, replica) => endpoints.about(endpoint, replica),
    shareOf: (batch) => shares.shareOf(batch),
    claims: () => shares.claims(),
    changed: () => {
      hub.permitsChanged();
      leasing.lookAtAll();
    },
    trouble: (batch, trouble) => {
      store
        .addBatchEvent(batch, 'infra', secrets.clean(batch, trouble))
        .catch((error: unknown) =>
          log(`recording endpoint trouble of ${batch} failed: ${errorText(error)}`, { level: 'error', batch }),
        );
    },
    // Each `demo:?…` is a separate endpoint, identified by its query.
    demo: (endpoint) =>
      options.demoMetrics === undefined
        ? undefined
        : {
            url: `${origin()}${options.demoMetrics}?${endpoint.split('?', 2)[1] ?? ''}`,
            headers: { authorization: `Bearer ${tokens.full}` },
          },
  });
  // Created last, because its workers need the port. Nothing uses it before.
  const late: { executor?: Executor } = {};
  const pods = new PodEnrollment({ store, log, uid: async (batch, name) => late.executor?.podUid?.(batch, name) });
  const leasing: Leasing = new Leasing({
    store,
    hub,
    pods,
    log,
    counters,
    submission: (sha) => submissions.get(sha),
    room: (batch) => supervisor.room(batch),
    shares,
    onGranted: (rollout) => {
      if (!deltas.watched(rollout)) return;
      deltas.restart(rollout);
      hub.watch(rollout, true);
    },
  });
  const groups = new BatchGroups({ store, changes, endpoints, log });
  const supervisor: Supervisor = new Supervisor({
    store,
    changes,
    hub,
    leasing,
    pressure,
    groups,
    shares,
    submissions,
    secrets,
    log,
    workers: {
      updateBatch: (record, submission) => late.executor?.updateBatch(record, submission),
      workerLost: (batch, worker) => late.executor?.workerLost?.(batch, worker),
      removeBatch: (batch) => late.executor?.removeBatch(batch),
      secrets: async (batch) => late.executor?.secrets(batch),
    },
  });

  const retention =
    options.retention === undefined || options.readOnly === true
      ? undefined
      : new Retention({ store, secrets, log, rules: options.retention });
  const services: Services = {
    retention,
    caller: OPERATOR,
    usable: (shas) => store.blobs.has(shas),
    store,
    changes,
    submissions,
    secrets,
    supervisor,
    leasing,
    endpoints,
    tokens,
    log,
    checkNeeds: async (submission, load) => {
      requireInstalled(submission, installed);
      return (await late.executor?.check(submission, load)) ?? [];
    },
    startsWorkers: options.executor !== undefined,
    workerPods: () => late.executor,
    lackingValues: (batch) => late.executor?.lackingValues?.(batch) ?? [],
    info: async () => {
      const troubles = [...(late.executor?.troubles?.() ?? [])];
      return { ...(await serverInfo(store, startedAt, pressure)), ...(troubles.length === 0 ? {} : { troubles }) };
    },
    shares: (caller) => opened.reply(caller),
    requireQueue: (queue, user) => shares.settings.requireQueue(queue, user),
    draining: () => draining,
    trained: () => idle.keep(TRAINER_MS),
  };
  const debuggers = new Debuggers(services, serverId);
  const access = new SessionAccess(store, submissions);
  const workerContext: WorkerContext = {
    store,
    tokens,
    server: serverId,
    hub,
    leasing,
    pods,
    deltas,
    log,
    health,
    counters,
    permits: (session) => hub.permits(session),
    endpoints,
    models: installed,
    endpoint: (batch, { endpoint, what, ...report }) => {
      if (what === 'denied' || what === 'missing') {
        supervisor
          .endpointRefused(batch, endpoint, report.text ?? `The model endpoint refused the call (${what}).`)
          .catch((error: unknown) => log(`stopping ${batch} failed: ${errorText(error)}`, { level: 'error', batch }));
        return;
      }
      if (what === 'ok') supervisor.answered(batch);
      pressure.report(batch, endpoint, { ...report, what });
    },
    rolloutEnded: (batch) => supervisor.rolloutEnded(batch),
    followed: (batch, rollout, event) => {
      opened.followed(batch, rollout, event);
      supervisor.followed(batch, rollout, event);
    },
    returned: (batch, one) => returns.add(batch, one),
    noSandbox: async ({ row, spec }, reason) => {
      await late.executor?.noSandbox?.(row.batch, await submissions.get(spec.submission), reason);
    },
    tampered: (session, rollout, problem) => {
      endTampered({ store, supervisor, leasing, log }, session, rollout, problem).catch((error: unknown) =>
        log(`ending the session of ${session.worker} failed: ${errorText(error)}`, { level: 'error' }),
      );
    },
  };
  const idle = new Idle({
    idleMs: options.idleMs,
    busy: async () => options.readOnly !== true && Object.values(await store.counts()).some((count) => count > 0),
    end: options.idle,
    failed: (error) => log(`looking for work failed: ${errorText(error)}`, { level: 'error' }),
  });
  const scrape = new Scrape({
    store,
    counters,
    endpoints: () => pressure.info(),
    clients: () => clients.size,
    workers: () => hub.callers().length,
    draining: () => draining,
  });
  const guard = new Guard({ store, logins, log });
  const listener = new Listener({
    tokens,
    logins,
    proxy: options.proxy,
    log,
    health,
    mounts: options.mounts,
    origins: { ...options.origins, host: options.listen.host },
    router: new Router(
      allRoutes({
        ...{ services, tokens, logins, guard, access, scrape, programs: options.programs, pages: options.pages },
        proxy: options.proxy,
        quota: new BlobQuota(options.rolloutBytes ?? Infinity, services.store),
        openMetrics: options.metrics === 'open',
      }),
      options.readOnly === true ? readOnlyError(store.name) : undefined,
      (route, caller, params, error) => guard.refused(route, caller, params, error),
    ),
    checkSession: (of) => access.check(of),
    worker: (socket, transport, enrollment) => {
      new WorkerConnection(workerContext, socket, transport, enrollment);
    },
    client: (socket, caller) => {
      const identity = (session: UserSession) => logins.identity(session);
      const client = new ClientConnection({ store, changes, deltas, debuggers, log, health, identity }, socket, caller);
      clients.add(client);
      socket.once('close', () => clients.delete(client));
    },
    entered: () => idle.enter(),
    draining: () => draining,
  });
  const closeParts = (): void => {
    idle.close();
    retention?.close();
    logins.close();
    supervisor.close();
    groups.close();
    leasing.close();
    hub.close();
    returns.close();
    opened.close();
    pressure.close();
    endpoints.close();
    changes.close();
    scrape.close();
  };
  try {
    await endpoints.read();
    port = await listener.listen(options.listen.host, options.listen.port);
    if (options.secure !== undefined) await listener.listenSecurely(options.listen.host, options.secure);
  } catch (error) {
    closeParts();
    throw error;
  }
  if (options.executor !== undefined)
    late.executor = options.executor(
      executorHost({
        services,
        hub,
        origins: options.advertise ?? [],
        listens: origin(),
        shares: opened.pods,
      }),
    );
  if (options.readOnly !== true) {
    await opened.start();
    await supervisor.start(startedAt);
    await groups.start();
  }
  const traces =
    options.traces === undefined ? undefined : openTraceExport({ store, changes, counters, log, ...options.traces });
  log(`${PRODUCT} listening on ${origin()}, store ${store.name}`);

  return {
    host: reachable(options.listen.host),
    port,
    startedAt,
    token: tokens.full,
    readToken: tokens.read,
    stop: async () => {
      log('the server is shutting down');
      draining = true;
      debuggers.close();
      leasing.close();
      idle.close();
      await drain({
        workers: () => hub.sessions(),
        clients: () => clients,
        log,
        executor: () => late.executor?.close(),
        exporter: async (withinMs) => traces?.close(withinMs),
      });
      await listener.close();
      closeParts();
      if (options.readOnly !== true) await opened.flush();
      await store.close();
    },
  };
}

/** Returns how this machine reaches an address the server listens on. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
