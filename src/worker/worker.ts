/** A worker: its session with the server, and the rollouts that run in it. */

import path from 'node:path';
import { allowedEnvironment } from '../common/environment.ts';
import type { StudioError } from '../common/errors.ts';
import { errorText } from '../common/errors.ts';
import type { InstalledModels } from '../config/submission/installed.ts';
import { Announcements } from '../model/announcements.ts';
import { ModelConnections } from '../model/connections.ts';
import { isDemo } from '../model/endpoint.ts';
import { PermitGate } from '../model/permits.ts';
import { Replicas } from '../model/replicas.ts';
import type { HoldPermits } from '../rollout/job.ts';
import { MAX_BREAKPOINT_HOLDS } from '../rollout/job.ts';
import { createToolPools } from '../tools/pools.ts';
import { ToolClient } from '../tools/toolServer/client.ts';
import { RemoteTools } from '../tools/toolServer/remoteSandbox.ts';
import type { WorkerConfig } from './config.ts';
import type { Outlet } from './outlet.ts';
import { Reaper } from './reaper/reaper.ts';
import { Claims } from './run/claims.ts';
import { EndpointCalls } from './run/endpointCalls.ts';
import { EndpointReports } from './run/endpointReports.ts';
import type { WorkerParts } from './run/parts.ts';
import { RolloutPool } from './run/pool.ts';
import { Scorings } from './run/scorings.ts';
import { Slots } from './run/slots.ts';
import { Submissions } from './run/submissions.ts';
import { bundlesIn, makeSharedFolder, makeWorkerFolder } from './run/workDirectory.ts';
import { ServerAddress } from './session/address.ts';
import { openFrameLog } from './session/frameLog.ts';
import { ServerApi } from './session/serverApi.ts';
import { ServerClock } from './session/serverClock.ts';
import { Session } from './session/session.ts';
import { Blobs } from './spool/blobs.ts';
import { Flusher } from './spool/flusher.ts';

export type WorkerEnd =
  /** Called when the batch has no more work for this worker. */
  | { readonly why: 'drained' }
  /**
   * It was told to stop, by the server or (`interrupted`) by a signal. `orderly`: it may hand its rollouts over first.
   */
  | { readonly why: 'stopped'; readonly interrupted?: boolean; readonly orderly?: boolean }
  /** The server is gone, or does not take it. */
  | { readonly why: 'gone'; readonly error: StudioError };

interface RunningWorker {
  /** Resolves when there is nothing left to do; nothing is cleaned up yet. */
  readonly ended: Promise<WorkerEnd>;
  /**
   * Takes no more rollouts and hands its own over, each where nothing is lost. Resolves when none is left, or when the
   * configured time is over.
   */
  leave(): Promise<void>;
  /**
   * Ends everything: events of rollouts are stored if that is quick, and tools and their processes end. Returns false
   * if a tool blocks its thread and so keeps the process from exiting.
   */
  close(end: WorkerEnd): Promise<boolean>;
}

interface WorkerOptions {
  readonly createRollout: WorkerParts['createRollout'];
  readonly log: (text: string) => void;
  /** The values of `${env:…}`. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly outlet: Outlet;
}

/** A worker that has to end does so a little before this time, whatever its tools do. */
const STOP_SECONDS = 2;
/** Share of this time for acknowledging the last events. */
const FLUSH_SHARE = 0.5;
const BYE_MS = 300;
const REAPER_MS = 500;

/** When a worker that has to end is killed. */
export function stopMs({ stop_seconds = STOP_SECONDS }: WorkerConfig): number {
  return stop_seconds * 1000 - 100;
}

export async function startWorker(config: WorkerConfig, options: WorkerOptions): Promise<RunningWorker> {
  const folder = path.resolve(config.work);
  await makeWorkerFolder(folder);
  const { tools } = config;
  const work = tools === undefined ? path.join(folder, 'rollouts') : path.resolve(tools.work);
  await (tools === undefined ? makeWorkerFolder(work) : makeSharedFolder(work));
  const reaper = new Reaper();
  reaper.addFolder(folder);
  if (config.own_group === true) reaper.add(process.pid);

  const life = new AbortController();
  const address = new ServerAddress([config.server, ...(config.others ?? [])], config.discovery);
  const api = new ServerApi(address, () => session.token);
  const clock = new ServerClock();
  const blobs = new Blobs(api, life.signal);
  const flusher = new Flusher();
  const replicas = new Replicas();
  const announcements = new Announcements(replicas);
  const gate: PermitGate = new PermitGate({
    pauseOf: (endpoint) => announcements.pauseOf(endpoint),
    onPausedCall: () => calls.soon(),
  });
  const connections = new ModelConnections();
  const { outlet, secrets } = options;
  const toolServer = tools === undefined ? undefined : await ToolClient.connect(tools.socket);
  const pools = createToolPools({
    directory: path.join(folder, 'bundles'),
    work,
    container:
      tools === undefined || toolServer === undefined
        ? undefined
        : { server: new RemoteTools(toolServer, tools.socket), directory: bundlesIn(work) },
    env: allowedEnvironment(process.env, config.pass_env),
    processGroups: reaper,
    onStuck: options.log,
  });
  const ended = Promise.withResolvers<WorkerEnd>();
  let closing = false;
  void toolServer?.lost.then((error) => {
    if (closing) return;
    options.log(`${error.message} Its rollouts continue in other workers.`);
    ended.resolve({ why: 'stopped', interrupted: true });
  });

  // The session, the pool, and the slots refer to each other; none is used before all exist.
  const slots: Slots = new Slots(config.slots, () => pool.requestMore());
  const claims: Claims = new Claims((frame) => session.send(frame));
  const scorings: Scorings = new Scorings((frame) => session.send(frame));
  const reports: EndpointReports = new EndpointReports((frame) => session.send(frame));
  const calls: EndpointCalls = new EndpointCalls({
    gate: () => gate,
    announcements,
    send: (frame) => session.send(frame),
  });
  const pool: RolloutPool = new RolloutPool({
    parts: {
      worker: config.worker,
      work,
      shared: tools !== undefined,
      clock,
      blobs,
      slots,
      claims,
      scorings,
      pools,
      gate,
      announcements,
      calls,
      replicas,
      connections,
      submissions: new Submissions({
        readBlob: (sha) => blobs.read(sha, life.signal),
        secrets,
        outlet,
        models: () => installed,
      }),
      events: (rollout, last, signal) => api.events(rollout, last, signal),
      outlet,
      link: { sendText: (frame) => session.sendText(frame), soon: flusher.soon },
      holdPermits: holdPermits(),
      report: reports.report,
      giveBack: (rollout, epoch) => session.send({ type: 'handover', rollout, epoch }),
      demoUrl: () => `${address.origin}/demo`,
      demoKey: () => session.token,
      createRollout: options.createRollout,
      log: options.log,
      // Only a store that is a folder has this file; whoever can read it may run programs on this machine anyway.
      inspectable: config.discovery !== undefined,
      hidden: config.discovery === undefined ? [] : [path.dirname(config.discovery), path.dirname(folder)],
    },
    send: (frame) => session.send(frame),
    rollouts: config.rollouts ?? Infinity,
    onDrained: () => ended.resolve({ why: 'drained' }),
    onDrain: () => ended.resolve({ why: 'stopped', orderly: true }),
  });
  let welcomed: string | undefined;
  let installed: InstalledModels = {};
  const session: Session = new Session(
    {
      address,
      token: config.token,
      worker: config.worker,
      pod: config.pod,
      slots: config.slots,
      noSandbox: await toolServer?.noSandbox(),
      outlet,
      maxOutageSeconds: config.reconnect_seconds,
      fenceSeconds: config.fence_seconds,
      frameLog: openFrameLog(process.env['ROLLOUT_FRAME_LOG'], config.worker, (text) => outlet.line(text)),
    },
    {
      rollouts: () => pool.rollouts(),
      load: () => {
        calls.ifChanged();
        return {
          running: slots.used,
          held: pool.held,
          waiting: gate.waiting,
          rss: process.memoryUsage.rss(),
          peak: gate.takePeak(),
        };
      },
      skew: () => clock.skew(),
      welcome: (frame, tripMs) => {
        clock.welcome(frame.clock, tripMs);
        installed = frame.models ?? {};
        // A restarted server also restarts its demo model, so calls need not wait as if that were still down.
        if (welcomed !== undefined && welcomed !== address.origin) gate.forget(isDemo);
        welcomed = address.origin;
        pool.welcome(frame);
      },
      frame: (frame) => {
        if (frame.type === 'beat') clock.beat(frame.clock);
        pool.frame(frame);
      },
      fenced: (on) => {
        options.log(on ? 'the server does not respond: no new effects start' : 'the server responds again');
        pool.setLost(on);
      },
      lostForGood: (error) => ended.resolve({ why: 'gone', error }),
    },
  );

  return {
    ended: ended.promise,
    leave: async () => {
      if (config.handover_seconds === undefined) return;
      options.log('stopping: handing over its rollouts');
      await pool.leave(config.handover_seconds * 1000);
    },
    close: async (end) => {
      closing = true;
      const late = new Promise<'late'>((resolve) => setTimeout(resolve, stopMs(config) * FLUSH_SHARE, 'late'));
      await Promise.race([
        pool.close(end.why === 'gone' ? end.error.message : 'The worker stops.', end.why !== 'gone'),
        late,
      ]);
      await session.bye(BYE_MS);
      life.abort();
      reports.close();
      calls.close();
      flusher.close();
      gate.close();
      const closed = await Promise.allSettled([Promise.race([pools.close(), late]), api.close(), connections.close()]);
      for (const result of closed) if (result.status === 'rejected') options.log(errorText(result.reason));
      // Because it leads its own process group, what is left can only be ended after this process is gone.
      if (config.own_group !== true) await reaper.close(REAPER_MS);
      toolServer?.close();
      const [threads] = closed;
      return threads.status === 'fulfilled' && threads.value !== 'late';
    },
  };
}

function holdPermits(): HoldPermits {
  let used = 0;
  return {
    acquire: () => {
      if (used >= MAX_BREAKPOINT_HOLDS) return false;
      used++;
      return true;
    },
    release: () => {
      used--;
    },
  };
}
