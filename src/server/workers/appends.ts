/**
 * Handles the appends of one connection. This is the hot path: events are validated here, stored in one transaction
 * with others, then acknowledged.
 */
import { isDeepStrictEqual } from 'node:util';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { REDACTED } from '../../common/redaction/redactor.ts';
import { oneLine } from '../../common/text.ts';
import type { WorkerFrame } from '../../protocol/worker.ts';
import type { AppendResult, Store } from '../../store/store.ts';
import { isOfBatch } from '../../trace/holder.ts';
import { checkEvent, type TraceEvent } from '../../trace/schema.ts';
import type { Deltas } from '../clients/deltas.ts';
import type { StoreHealth } from '../storeHealth.ts';
import type { AppendOutcome, Counters } from '../telemetry/counters.ts';
import type { HeldLease, WorkerSession } from './session.ts';

type AppendFrame = Extract<WorkerFrame, { type: 'append' }>;

export interface AppendsContext {
  readonly store: Store;
  readonly deltas: Deltas;
  readonly log: Log;
  readonly health: StoreHealth;
  readonly counters: Counters;
  /** Called when a rollout ended: its attempt may be settled. */
  readonly rolloutEnded: (batch: string) => void;
  /** Called with every stored event. */
  readonly followed: (batch: string, rollout: string, event: TraceEvent) => void;
  /** Called when a session sent what its worker cannot have written. */
  readonly tampered: (session: WorkerSession, rollout: string, problem: string) => void;
}

export class Appends {
  readonly #context: AppendsContext;

  constructor(context: AppendsContext) {
    this.#context = context;
  }

  /**
   * Stores an append and replies with ack or refuse once it is durable. Keeps the order of frames. `bytes`: size of the
   * frame.
   */
  append(session: WorkerSession, frame: AppendFrame, bytes: number): void {
    const { rollout } = frame;
    const since = performance.now();
    const count = (outcome: AppendOutcome): void => this.#context.counters.appended(outcome, since);
    const lease = session.rollouts.get(rollout);
    if (lease === undefined && !session.ended.has(rollout)) {
      if (session.lost.has(rollout)) {
        count('fenced');
        session.fence(rollout);
      } else {
        this.#tampered(session, rollout, 'its session never held this rollout', count);
      }
      return;
    }
    const problem = firstProblem(frame);
    if (problem !== undefined) {
      count('invalid');
      void this.#refuseInvalid(session, rollout, problem);
      return;
    }
    const other = lease === undefined ? undefined : otherRollout(session, lease, frame.events);
    if (other !== undefined) {
      this.#tampered(session, rollout, other, count);
      return;
    }
    session.appending += 1;
    this.#context.store
      .append({ rollout, epoch: frame.epoch, from: frame.from, events: frame.events, audited: true })
      .then(
        (result) => {
          count(result.ok ? 'stored' : result.code);
          if (result.ok) this.#context.counters.stored(frame.events.length, bytes);
          this.#answer(session, frame, result);
        },
        (error: unknown) => {
          count('failed');
          this.#failed(session, frame, error);
        },
      )
      .finally(() => {
        session.appending -= 1;
      });
  }

  #answer(session: WorkerSession, frame: AppendFrame, result: AppendResult): void {
    const { rollout } = frame;
    if (!result.ok) {
      if (result.code === 'tampered') {
        this.#tampered(session, rollout, result.message);
        return;
      }
      if (result.code === 'fenced') session.forget(rollout, 'lost');
      else if (result.code === 'full') this.#context.health.refused(result.message);
      session.send({ type: 'refuse', rollout, code: result.code, durable: result.durable, message: result.message });
      return;
    }
    this.#context.health.succeeded();
    session.send({ type: 'ack', rollout, to: result.durable });
    this.#follow(session, frame.events, rollout);
  }

  /** Applies the side effects of stored events. */
  #follow(session: WorkerSession, events: readonly TraceEvent[], rollout: string): void {
    const { deltas, counters, rolloutEnded, followed } = this.#context;
    const watched = deltas.watched(rollout);
    for (const event of events) {
      followed(session.batch, rollout, event);
      switch (event.kind) {
        case 'hold':
          session.holding(rollout, isOfBatch(event.data));
          break;
        case 'release':
          session.released(rollout);
          break;
        case 'model.end':
        case 'tool.end':
          if (watched && event.span !== undefined) deltas.ended(rollout, event.span);
          break;
        case 'rollout.end':
          session.forget(rollout, 'ended');
          counters.rolloutEnded(event.data);
          deltas.restart(rollout);
          rolloutEnded(session.batch);
          break;
        default:
      }
    }
  }

  /**
   * Handles a store failure (disk full, database unreachable): nothing was changed, and the worker sends the events
   * again later.
   */
  #failed(session: WorkerSession, frame: AppendFrame, error: unknown): void {
    if (StudioError.is(error, 'storage')) this.#context.health.failed(error);
    else
      this.#context.log(`append to ${frame.rollout} failed: ${errorText(error)}`, {
        level: 'error',
        batch: session.batch,
        rollout: frame.rollout,
        worker: session.worker,
      });
    if (StudioError.is(error, 'not_found')) {
      session.forget(frame.rollout, 'lost');
      session.send({ type: 'refuse', rollout: frame.rollout, code: 'fenced', durable: 0, message: errorText(error) });
      return;
    }
    session.send({
      type: 'refuse',
      rollout: frame.rollout,
      code: 'full',
      durable: frame.from - 1,
      message: errorText(error),
    });
  }

  #tampered(session: WorkerSession, rollout: string, problem: string, count?: (outcome: 'tampered') => void): void {
    if (session.draining) return; // reported already
    count?.('tampered');
    this.#context.tampered(session, rollout, problem);
  }

  async #refuseInvalid(session: WorkerSession, rollout: string, message: string): Promise<void> {
    const durable = await this.#context.store.rollout(rollout).then(
      (record) => record?.row.last ?? 0,
      () => 0,
    );
    session.send({ type: 'refuse', rollout, code: 'invalid', durable, message });
  }
}

/** Returns how events say that they belong to another rollout, worker, or batch than the leased one. */
function otherRollout(session: WorkerSession, lease: HeldLease, events: readonly TraceEvent[]): string | undefined {
  for (const event of events) {
    if (event.kind === 'rollout.start') {
      const { batch, task, attempt, try: number } = event.data;
      if (!isName(batch, session.batch)) return `event ${event.seq} (rollout.start) names batch ${excerpt(batch)}`;
      if (!isName(task, lease.task)) return `event ${event.seq} (rollout.start) names task ${excerpt(task)}`;
      if (attempt !== lease.attempt || number !== lease.try)
        return `event ${event.seq} (rollout.start) names attempt ${attempt}, try ${number}`;
      if (!isDeepStrictEqual(event.data.fork, session.fork))
        return `event ${event.seq} (rollout.start) names another fork`;
      if (!isDeepStrictEqual(event.data.rescores, lease.rescores))
        return `event ${event.seq} (rollout.start) names another rollout to score again`;
    } else if (
      (event.kind === 'rollout.lease' || event.kind === 'rollout.handover') &&
      !isName(event.data.worker, session.worker)
    ) {
      return `event ${event.seq} (${event.kind}) names worker ${excerpt(event.data.worker)}`;
    }
  }
  return undefined;
}

/** Whoever sent it chose its length. */
function excerpt(name: string): string {
  return oneLine(name, 80);
}

/** A name that contains a secret's value arrives without it. */
function isName(actual: string, expected: string): boolean {
  return actual === expected || actual.includes(REDACTED);
}

/** Returns why the events of a frame cannot be stored. */
function firstProblem(frame: AppendFrame): string | undefined {
  if (frame.events.length === 0) return 'An append must have at least one event.';
  let seq = frame.from;
  for (const event of frame.events) {
    const check = checkEvent(event);
    if (!check.ok) return `Event ${seq} is not valid: ${check.path}: ${check.message}`;
    if (event.seq !== seq) return `Expected event ${seq}, but found event ${event.seq}.`;
    seq += 1;
  }
  return undefined;
}
