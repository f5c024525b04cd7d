/**
 * The WebSocket of one worker: parses and handles its frames. The session outlives the socket until its lease expires.
 */
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { errorText, StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { Serial } from '../../common/serial.ts';
import { plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import type { InstalledModels } from '../../config/submission/installed.ts';
import { areCompatible } from '../../protocol/version.ts';
import {
  BEAT_SECONDS,
  isUnknownFrame,
  LEASE_SECONDS,
  type Lineage,
  WORKER_PROTOCOL,
  type WorkerFrame,
  workerFrame,
} from '../../protocol/worker.ts';
import type { AdoptedSession, BatchRecord } from '../../store/store.ts';
import type { EventData } from '../../trace/schema.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { type EnrollmentIdentity, ownerOf, type Tokens } from '../access/tokens.ts';
import { commandDone, commandFailed } from '../commands/result.ts';
import type { EndpointControl } from '../endpoints/control.ts';
import type { SessionPermits } from '../pressure/options.ts';
import { rawText } from '../socketText.ts';
import { Appends, type AppendsContext } from './appends.ts';
import { type Hub, TRANSIENT } from './hub.ts';
import type { Leasing } from './leasing.ts';
import type { PodEnrollment } from './podEnrollment.ts';
import type { Return } from './returns.ts';
import { CLOSE_FOR_GOOD, closeReason, type HeldLease, WorkerSession } from './session.ts';

type Frame<T extends WorkerFrame['type']> = Extract<WorkerFrame, { type: T }>;

const MAX_WANT = 10_000;
/** Welcomes in a row that a worker may miss and still take over its session. */
const MAX_LOST_WELCOMES = 8;
/** Close code of a server error. */
const CLOSE_TRY_AGAIN = 1011;

export interface WorkerContext extends AppendsContext {
  readonly tokens: Tokens;
  /** ID of this server in sessions. */
  readonly server: string;
  readonly hub: Hub;
  readonly leasing: Leasing;
  readonly pods: PodEnrollment;
  readonly permits: (session: string) => SessionPermits;
  readonly endpoints: EndpointControl;
  /** The models that are installed next to the server. */
  readonly models: InstalledModels;
  /** Handles a report on an endpoint's load, or its refusal of the batch. */
  readonly endpoint: (batch: string, report: Frame<'endpoint'>) => void;
  /** Reports that a worker has no sandbox for what its tools start. */
  readonly noSandbox: (batch: BatchRecord, reason: string) => Promise<void>;
  /** Called when a worker has reconnected after it lost its server. */
  readonly returned: (batch: string, one: Return) => void;
}

interface OpenedSession extends AdoptedSession {
  readonly id: string;
  readonly before: string | undefined;
}

export class WorkerConnection {
  readonly #context: WorkerContext;
  readonly #socket: WebSocket;
  readonly #transport: Duplex;
  readonly #batch: string;
  /** Whether it connects as a pod that gets a single rollout. */
  readonly #isPod: boolean;
  readonly #appends: Appends;
  /** Writes reports on calls: the last one must be what remains, whatever order the store commits in. */
  readonly #reports = new Serial();
  /** Rollouts that are being given back: those that the session still has at its end count as interrupted. */
  readonly #handovers = new Set<Promise<void>>();
  #session: WorkerSession | undefined;
  #greeting = false;
  /** Whether its version of the protocol is newer than the server's. */
  #isNewer = false;

  /** `transport`: the stream below the WebSocket. */
  constructor(context: WorkerContext, socket: WebSocket, transport: Duplex, { batch, pods }: EnrollmentIdentity) {
    this.#context = context;
    this.#socket = socket;
    this.#transport = transport;
    this.#batch = batch;
    this.#isPod = pods;
    this.#appends = new Appends(context);
    socket.on('message', (data) => this.#receive(data));
    socket.on('close', () => {
      if (this.#session !== undefined) context.hub.remove(this.#session);
    });
  }

  #receive(data: RawData): void {
    const text = rawText(data);
    let raw: unknown;
    try {
      raw = JSON.parse(text);
    } catch (error) {
      this.#refuse(new StudioError('usage', 'The frame is not JSON.', { cause: error }));
      return;
    }
    const parsed = workerFrame.safeParse(raw);
    if (!parsed.success) {
      if (this.#isNewer && isUnknownFrame(raw, workerFrame)) return;
      const issue = parsed.error.issues[0];
      this.#refuse(
        new StudioError('usage', `Invalid frame: ${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? ''}.`),
      );
      return;
    }
    const session = this.#session;
    if (parsed.data.type === 'hello') {
      this.#hello(parsed.data).catch((error: unknown) => this.#refuse(error));
    } else if (session === undefined) {
      this.#refuse(
        new StudioError(
          'usage',
          `Expected hello as the first frame, and no other frame before the welcome, but got ${parsed.data.type}.`,
        ),
      );
    } else {
      this.#handle(session, parsed.data, text.length);
    }
  }

  #handle(session: WorkerSession, frame: Exclude<WorkerFrame, { type: 'hello' }>, size: number): void {
    const { deltas, leasing } = this.#context;
    switch (frame.type) {
      case 'append':
        if (!session.draining) this.#appends.append(session, frame, size);
        return;
      case 'delta':
        if (session.holds(frame.rollout, frame.epoch))
          deltas.receive(frame.rollout, frame.span, frame.offset, frame.text);
        return;
      case 'lease':
        leasing.request(session, Math.min(frame.want, MAX_WANT));
        return;
      case 'beat':
        this.#handled(this.#beat(session, frame));
        return;
      case 'scoring':
        this.#handled(this.#scoring(session, frame));
        return;
      case 'claim':
        this.#handled(this.#claim(session, frame));
        return;
      case 'done':
        if (!frame.command.startsWith(TRANSIENT)) this.#handled(this.#done(frame));
        return;
      case 'endpoint':
        this.#context.endpoint(session.batch, frame);
        return;
      case 'calls':
        this.#handled(this.#reports.run(() => this.#context.store.endpoints.report(session.id, frame)));
        return;
      case 'leaving':
        this.#handled(this.#leaving(session));
        return;
      case 'handover':
        this.#handled(this.#handover(session, frame));
        return;
      case 'bye':
        this.#handled(this.#bye(session));
        return;
    }
  }

  async #hello(frame: Frame<'hello'>): Promise<void> {
    if (this.#greeting) throw new StudioError('usage', 'A connection can send hello only once.');
    this.#greeting = true;
    if (!areCompatible(frame.protocol, WORKER_PROTOCOL))
      throw new StudioError(
        'version',
        `The worker uses protocol ${frame.protocol}; this server works with ${WORKER_PROTOCOL - 1} to ` +
          `${WORKER_PROTOCOL + 1}.`,
      );
    this.#isNewer = frame.protocol > WORKER_PROTOCOL;
    const { store, hub, deltas, tokens, endpoints, models } = this.#context;
    const record = await store.batch(this.#batch);
    if (record === undefined) throw new StudioError('gone', `Batch ${this.#batch} no longer exists.`);
    const { parent } = record.spec;
    const pod = this.#podOf(frame);
    // Before it gets rollouts: they cannot run if the batch requires one.
    if (frame.no_sandbox !== undefined) await this.#context.noSandbox(record, frame.no_sandbox);
    const { id, keep, ended, drop, before } = await this.#open(frame, pod);
    const session = new WorkerSession(this.#socket, this.#transport, id, {
      batch: this.#batch,
      fork: parent === undefined ? undefined : { rollout: parent.rollout, seq: parent.seq },
      worker: frame.worker,
      pod,
      slots: frame.slots,
      paused: record.paused,
      breakpoints: JSON.stringify(record.breakpoints),
    });
    if (pod !== undefined) session.only = await store.podRollout(this.#batch, pod);
    for (const rollout of [...ended, ...drop]) session.lost.add(rollout);
    for (const { rollout } of keep) {
      const kept = await store.rollout(rollout);
      if (kept === undefined) continue;
      const { row, lineage } = kept;
      session.rollouts.set(rollout, heldLease(row, lineage));
      if (row.state === 'held') session.holding(rollout, record.paused && row.progress.hold?.why === 'pause');
    }
    // Read after the session was opened: whoever pauses an endpoint now sees the session, and waits for its report.
    const announced = await endpoints.read();
    // disconnected during this time: the lease expires, or the worker reconnects
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#session = session;
    session.send({
      type: 'welcome',
      protocol: WORKER_PROTOCOL,
      session: id,
      token: tokens.session(this.#batch, id, frame.worker, pod),
      clock: await store.now(),
      beat_s: BEAT_SECONDS,
      lease_s: LEASE_SECONDS,
      keep,
      drop: [...ended, ...drop],
      announced,
      ...(Object.keys(models).length === 0 ? {} : { models }),
    });
    hub.add(session);
    if (frame.away_ms !== undefined)
      this.#context.returned(this.#batch, {
        disconnectedMs: frame.away_ms,
        serverChanged: before === undefined ? undefined : before !== this.#context.server,
        kept: keep.length,
        dropped: drop.length,
      });
    if (keep.length > 0) hub.sendStateTo(session, record);
    await hub.sendPermits(session, this.#context.permits(id));
    for (const { rollout } of keep)
      if (deltas.watched(rollout)) hub.control(session, 'watch', { on: true }, 'server', rollout);
  }

  /** Returns the UID of its pod, if that gets a single rollout. */
  #podOf({ pod }: Frame<'hello'>): string | undefined {
    if (this.#isPod && pod === undefined)
      throw new StudioError('forbidden', 'The enrollment token of pods is accepted only with the UID of a pod.');
    return this.#isPod ? pod : undefined;
  }

  /**
   * Opens the session, in place of the previous one whose token the worker presents. `before`: the server of that one.
   * `pod`: see `#podOf`.
   */
  async #open({ worker, slots, rollouts, resume }: Frame<'hello'>, pod: string | undefined): Promise<OpenedSession> {
    const { store, hub, tokens, server, pods } = this.#context;
    const opening = { batch: this.#batch, worker, slots, server };
    let previous = resume === undefined ? undefined : this.#previousSession(resume, worker, pod);
    // The token of an earlier session shows that its pod was admitted, also while the cluster cannot be asked.
    if (pod !== undefined && resume === undefined) await pods.admit(this.#batch, worker, pod);
    for (let passed = 0; previous !== undefined && passed <= MAX_LOST_WELCOMES; passed++) {
      const id = tokens.nextSession(previous);
      const taken = await store.takeOver({ ...opening, session: id }, previous, rollouts);
      if (taken !== undefined) {
        hub.session(previous)?.expire();
        return { ...taken, id, before: taken.server };
      }
      // It may have ended in favor of a session whose welcome the worker did not receive.
      previous = id;
    }
    const id = newId('s');
    await store.openSession({ ...opening, session: id });
    if (resume === undefined || rollouts.length === 0)
      return { id, keep: [], ended: [], drop: rollouts.map(({ rollout }) => rollout), before: undefined };
    return { ...(await store.adopt(id, rollouts)), id, before: undefined };
  }

  /** Returns the session of the token that a reconnecting worker presents. Throws `unauthorized`. */
  #previousSession(token: string, worker: string, pod: string | undefined): string {
    const previous = this.#context.tokens.identify(token);
    if (previous?.kind === 'session' && previous.batch === this.#batch && previous.owner === ownerOf(worker, pod))
      return previous.session;
    throw new StudioError('unauthorized', `The token that worker ${worker} presents is not that of its last session.`);
  }

  async #beat(session: WorkerSession, { skew_ms, load }: Frame<'beat'>): Promise<void> {
    const { store, hub } = this.#context;
    if (!(await store.beat(session.id))) {
      session.expire();
      return;
    }
    session.beat(load.peak);
    await hub.sendPermits(session, this.#context.permits(session.id));
    if (skew_ms !== undefined) await store.addBatchEvent(session.batch, 'infra', clockSkew(session.worker, skew_ms));
  }

  async #claim(session: WorkerSession, frame: Frame<'claim'>): Promise<void> {
    const isHolder = session.holds(frame.rollout, frame.epoch);
    const yes = isHolder && (await this.#context.store.claim(session.batch, frame.breakpoint, frame.rollout));
    session.send({ type: 'claimed', claim: frame.claim, yes });
  }

  /** Hands out what only scoring may know of the task, to the holder of the rollout only. */
  async #scoring(session: WorkerSession, { rollout, epoch }: Frame<'scoring'>): Promise<void> {
    const holds = session.holds(rollout, epoch);
    const task = holds ? await this.#context.store.beginScoring(session.id, rollout, epoch) : undefined;
    if (task !== undefined) {
      const { answer, meta } = task;
      session.send({ type: 'scoring', rollout, epoch, ...(answer === undefined ? {} : { answer }), meta });
    } else {
      session.fence(rollout);
    }
  }

  async #done(frame: Frame<'done'>): Promise<void> {
    try {
      await this.#context.store.finishCommand(
        frame.command,
        frame.error === undefined
          ? commandDone({ seq: frame.seq, inspector: frame.inspector })
          : commandFailed(frame.error),
      );
    } catch (error) {
      if (!StudioError.is(error, 'not_found')) throw error; // its batch was removed, so nobody waits
    }
  }

  async #leaving(session: WorkerSession): Promise<void> {
    if (session.leaving) return;
    session.leaving = true;
    session.requested = 0;
    const { size } = session.rollouts;
    if (size === 0) return;
    await this.#context.store.addBatchEvent(session.batch, 'infra', {
      what: 'worker_leaving',
      worker: session.worker,
      text: `Worker ${session.worker} has to stop. It hands ${plural(size, 'rollout')} over to other workers.`,
    });
  }

  async #handover(session: WorkerSession, { rollout, epoch }: Frame<'handover'>): Promise<void> {
    if (!session.holds(rollout, epoch)) return;
    const { store, leasing } = this.#context;
    // In this order: another session may get it as soon as the store has it.
    session.forget(rollout, 'lost');
    const done = store.handOver(session.id, rollout, epoch);
    this.#handovers.add(done);
    await done.finally(() => this.#handovers.delete(done));
    leasing.check(session.batch, true);
  }

  async #bye(session: WorkerSession): Promise<void> {
    const { store, hub, leasing } = this.#context;
    hub.remove(session);
    await Promise.allSettled(this.#handovers);
    await store.endSession(session.id, 'The worker stopped.');
    leasing.check(session.batch, true);
    this.#socket.close(1000);
  }

  /** Closes the connection after a failure of the server. The worker reconnects. */
  #handled(work: Promise<void>): void {
    work.catch((error: unknown) => this.#refuse(error, CLOSE_TRY_AGAIN));
  }

  #refuse(
    error: unknown,
    code = StudioError.is(error) && error.code !== 'storage' && error.code !== 'unavailable'
      ? CLOSE_FOR_GOOD
      : CLOSE_TRY_AGAIN,
  ): void {
    const worker = this.#session?.worker;
    this.#context.log(`worker ${worker ?? '?'} of ${this.#batch}: ${errorText(error)}`, {
      level: 'warning',
      batch: this.#batch,
      ...(worker === undefined ? {} : { worker }),
    });
    this.#socket.close(code, closeReason(errorText(error)));
  }
}

function heldLease({ epoch, task, attempt, try: number, rescores }: RolloutRow, lineage: Lineage): HeldLease {
  const lease = { epoch, task, attempt, try: number };
  // It shares all events of what it scores again.
  const seq = lineage.at(-1)?.to ?? 0;
  return rescores === undefined ? lease : { ...lease, rescores: { rollout: rescores, seq } };
}

/** Returns the event for a worker whose clock is off, recorded once per worker. */
function clockSkew(worker: string, ms: number): EventData['infra'] {
  return {
    what: 'clock_skew',
    worker,
    text:
      `The clock of worker ${worker} is ${duration(Math.abs(ms))} ${ms > 0 ? 'ahead of' : 'behind'} the server's. ` +
      "Events are recorded with the server's time, but tools and the services they call see the wrong time. " +
      'Synchronize the clock with NTP.',
  };
}
