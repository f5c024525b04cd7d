/** All workers connected to this server: which rollouts they hold, and the messages to send them. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { errorText, StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import type { Json } from '../../common/json.ts';
import type { Log } from '../../common/log.ts';
import { type Breakpoint, breakpoint, type ControlVerb } from '../../protocol/commands.ts';
import type { Announced } from '../../protocol/endpoints.ts';
import type { BatchRecord, Store } from '../../store/store.ts';
import type { Changes } from '../changes.ts';
import type { Caller, SessionPermits } from '../pressure/options.ts';
import { Throttle } from '../throttle.ts';
import type { WorkerSession } from './session.ts';

/** Prefix of the IDs of controls that are not stored commands; nobody waits for their `done`. */
export const TRANSIENT = '~';

/** Permits are pushed between heartbeats when one changes from or to 0, or by this share. */
const PUSHED_CHANGE = 0.2;
const PUSH_EVERY_MS = 100;
/** Maximum age of the shares in the reply to a heartbeat. */
const SHARES_MS = 100;

interface HubOptions {
  readonly store: Store;
  readonly changes: Changes;
  readonly log: Log;
  readonly shares: () => Map<string, SessionPermits>;
  /** Returns the replicas to call instead of the endpoints of a batch. */
  readonly replicas: (batch: string) => Record<string, string[]>;
  /** Returns what was announced about endpoints. */
  readonly announced: () => Announced;
}

const NO_PERMITS: SessionPermits = { permits: {}, waits: {} };

interface ConnectedWorker {
  readonly session: WorkerSession;
  readonly caller: Caller;
  readonly commands: Throttle;
  readonly unwatch: () => void;
}

export class Hub {
  readonly #options: HubOptions;
  readonly #sessions = new Map<string, ConnectedWorker>();
  readonly #push: Throttle;
  #callers: Caller[] | undefined;
  #shared: ReadonlyMap<string, SessionPermits> = new Map();
  #sharedAt = -Infinity;

  constructor(options: HubOptions) {
    this.#options = options;
    this.#push = new Throttle(PUSH_EVERY_MS, () => this.#pushPermits(), this.#failed);
  }

  *sessions(batch?: string): Generator<WorkerSession> {
    for (const { session } of this.#sessions.values())
      if (batch === undefined || session.batch === batch) yield session;
  }

  session(id: string): WorkerSession | undefined {
    return this.#sessions.get(id)?.session;
  }

  /** Returns the current callers. Called for each report on an endpoint. */
  callers(): readonly Caller[] {
    this.#callers ??= Array.from(this.#sessions.values(), ({ caller }) => caller);
    return this.#callers;
  }

  /**
   * Returns the permits of a session, cached briefly: a thousand workers send heartbeats every few seconds, and
   * computing the shares visits all of them.
   */
  permits(session: string): SessionPermits {
    const existing = performance.now() - this.#sharedAt < SHARES_MS ? this.#shared.get(session) : undefined;
    return existing ?? this.#share().get(session) ?? NO_PERMITS;
  }

  add(session: WorkerSession): void {
    const commands = new Throttle(0, () => this.#deliver(session), this.#failed);
    const caller: Caller = {
      session: session.id,
      batch: session.batch,
      get running() {
        return session.running;
      },
      get demand() {
        return session.demand;
      },
    };
    this.#callers = undefined;
    this.#sessions.set(session.id, {
      session,
      caller,
      commands,
      unwatch: this.#options.changes.on(session.id, () => commands.request(true)),
    });
    commands.request(true);
  }

  remove(session: WorkerSession): void {
    const existing = this.#sessions.get(session.id);
    existing?.unwatch();
    existing?.commands.close();
    this.#sessions.delete(session.id);
    this.#callers = undefined;
  }

  close(): void {
    this.#push.close();
    for (const { session } of [...this.#sessions.values()]) this.remove(session);
  }

  /** Sends stored commands to the worker of a session: some may have waited for the rollouts it just leased. */
  commands(session: WorkerSession): void {
    this.#sessions.get(session.id)?.commands.request(true);
  }

  /** Tells the worker of a rollout whether to send its live text. */
  watch(rollout: string, on: boolean): void {
    for (const session of this.sessions())
      if (session.rollouts.has(rollout)) this.control(session, 'watch', { on }, 'server', rollout);
  }

  control(session: WorkerSession, verb: ControlVerb, args: Json, by: string, rollout?: string): void {
    session.send({
      type: 'control',
      command: `${TRANSIENT}${newId('c')}`,
      verb,
      args,
      by,
      ...(rollout === undefined ? {} : { rollout }),
    });
  }

  /** Sends the state of a batch to the workers that have an older one. */
  sendBatchState(record: BatchRecord, by: string): void {
    const breakpoints = JSON.stringify(record.breakpoints);
    for (const session of this.sessions(record.row.batch)) {
      if (session.breakpoints !== breakpoints) this.#sendBreakpoints(session, record, by);
      if (session.paused !== record.paused) this.#sendPaused(session, record, by);
      this.#sendStopped(session, record, by);
    }
  }

  /** Sends the state to a worker that may have missed changes while it was disconnected. */
  sendStateTo(session: WorkerSession, record: BatchRecord): void {
    this.#sendBreakpoints(session, record, 'server');
    this.#sendPaused(session, record, 'server');
    this.#sendStopped(session, record, 'server');
  }

  #sendBreakpoints(session: WorkerSession, record: BatchRecord, by: string): void {
    session.breakpoints = JSON.stringify(record.breakpoints);
    this.control(session, 'breakpoints', { breakpoints: record.breakpoints }, by);
  }

  #sendPaused(session: WorkerSession, record: BatchRecord, by: string): void {
    session.paused = record.paused;
    this.control(session, record.paused ? 'hold' : 'release', {}, by);
  }

  #sendStopped(session: WorkerSession, record: BatchRecord, by: string): void {
    const stopped = record.stopping !== undefined;
    if (stopped && !session.stopped) this.control(session, 'cancel', { reason: record.stopping ?? '' }, by);
    session.stopped = stopped;
  }

  /** Sends permits that changed a lot before the next heartbeat. */
  permitsChanged(): void {
    this.#sharedAt = -Infinity;
    this.#push.request();
  }

  /** Sends permits in reply to a heartbeat, or between heartbeats. */
  async sendPermits(session: WorkerSession, { permits, waits }: SessionPermits): Promise<void> {
    const clock = await this.#options.store.now();
    const replicas = this.#options.replicas(session.batch);
    const announced = this.#options.announced();
    session.permits = permits;
    session.waits = waits;
    session.replicas = JSON.stringify(replicas);
    session.announced = announced.rev;
    session.send({
      type: 'beat',
      clock,
      permits,
      ...(Object.keys(waits).length === 0 ? {} : { waits }),
      ...(Object.keys(replicas).length === 0 ? {} : { replicas }),
      announced,
    });
  }

  /** Sends what was announced about endpoints to the workers that do not know it yet. */
  async announce(): Promise<void> {
    const { rev } = this.#options.announced();
    const late = [...this.sessions()].filter((session) => session.announced < rev);
    await Promise.all(late.map((session) => this.sendPermits(session, this.permits(session.id))));
  }

  #share(): ReadonlyMap<string, SessionPermits> {
    this.#shared = this.#options.shares();
    this.#sharedAt = performance.now();
    return this.#shared;
  }

  async #pushPermits(): Promise<void> {
    const shares = this.#share();
    for (const { session } of [...this.#sessions.values()]) {
      const permits = shares.get(session.id);
      if (permits === undefined) continue;
      const replicasChanged = session.replicas !== JSON.stringify(this.#options.replicas(session.batch));
      if (
        replicasChanged ||
        muchChanged(session.permits, permits.permits) ||
        !isDeepStrictEqual(session.waits, permits.waits)
      )
        await this.sendPermits(session, permits);
    }
  }

  async #deliver(session: WorkerSession): Promise<void> {
    const commands = await this.#options.store.commandsFor(session.id).catch((error: unknown) => {
      if (!StudioError.is(error, 'not_found')) throw error;
      session.expire();
      return [];
    });
    for (const command of commands) {
      // `sendBatchState` sends the state of the batch; here, only commands to one rollout are sent.
      if (command.rollout === undefined) continue;
      session.send({
        type: 'control',
        command: command.id,
        rollout: command.rollout,
        verb: command.verb as ControlVerb,
        args: command.args,
        by: command.by,
      }); // stored from a parsed RolloutCommand
    }
  }

  readonly #failed = (error: unknown): void => {
    this.#options.log(`sending to a worker failed: ${errorText(error)}`, { level: 'error' });
  };
}

function muchChanged(before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>): boolean {
  return Object.entries(after).some(([endpoint, permits]) => {
    const previous = before[endpoint];
    if (previous === undefined || (previous === 0) !== (permits === 0)) return previous !== permits;
    return Math.abs(permits - previous) > previous * PUSHED_CHANGE;
  });
}

/** Parses the stored breakpoints of a batch. */
export function breakpointsOf(record: BatchRecord): Breakpoint[] {
  return z.array(breakpoint).parse(record.breakpoints);
}
