import { ClassedError } from '../../trace/classedError.ts';
import type { Change, EventData } from '../../trace/schema.ts';
import type { Edits } from '../gates/edits.ts';
import { editStart } from '../gates/edits.ts';
import type { Gates } from '../gates/gates.ts';
import type { Subject } from '../gates/subject.ts';
import { type Draft, type Log, messageDraft, type NewMessage } from '../log/log.ts';
import type { LoggedMessage } from '../log/messages.ts';
import type { PendingBlob, Recorder } from '../ports.ts';
import type { Stop } from '../stop.ts';
import type { Flights } from './flights.ts';
import type { Match, Prefix, PrefixRequest } from './prefix.ts';
import type { Queue } from './queue.ts';
import type { EffectKind, Effects, RecordedAction } from './recorded.ts';
import { endData } from './takeover.ts';

/** The result of an effect: its message, if any, and its end are recorded in one append. */
export interface Outcome<K extends EffectKind> {
  readonly message?: NewMessage;
  /** Without `m`. Absent only for an opened world, whose end is written when it is closed. */
  readonly end?: Effects[K]['end'];
  /** Changes of the world. */
  readonly changes?: readonly Change[] | undefined;
  readonly blobs?: readonly PendingBlob[];
  /** Blobs that values of the end refer to as `$blob`. */
  readonly refs?: ReadonlySet<string>;
}

/** One outside effect. */
export interface ActRequest<K extends EffectKind = EffectKind> extends PrefixRequest {
  readonly kind: K;
  /** For a tool or a world: its step. The start of a model call contains the step. */
  readonly step: number;
  /** For a team member: seq of its `agent.start`; for a side model: seq of the `tool.start` that contains it. */
  readonly parent?: number | undefined;
  /** For a side model's call: the agent whose step contains it. */
  readonly caller?: string | undefined;
  /** Ends it before the rollout ends: the end of the tool call that contains it. */
  readonly stop?: Stop | undefined;
  /**
   * Creates the request, unless the prefix answers it. `again`: an earlier request whose answer was lost.
   */
  start(lost?: RecordedAction<K>): { readonly data: Effects[K]['start']; readonly blobs?: readonly PendingBlob[] };
  /**
   * Performs the effect. `start` includes the edits made at the gate. `lost`: seq of the start that it repeats. Never
   * throws: a failure is an end.
   */
  perform(start: Effects[K]['start'], subject: Subject<K>, lost: number | undefined): Promise<Outcome<K>>;
  /** Effects in the same queue run one after another, including gates. */
  readonly queue?: Queue;
  /** Whether nobody waits for its end if the rollout is handed over: it is another agent's work, or a person's. */
  readonly endless?: boolean;
  /** Whether to wait until the start is stored, so that after a takeover it is known that it may have happened. */
  readonly onlyStored?: boolean;
  /** For a model call: whether it is the first to see a message. */
  readonly isNew?: (m: number) => boolean;
  /** Called in order, after the gate that follows and before anything that waits for this effect continues. */
  settled?(done: EffectResult<K>): Promise<void> | undefined;
}

export interface EffectResult<K extends EffectKind = EffectKind> {
  /** seq of the start. */
  readonly span: number;
  /** The original request. */
  readonly start: Effects[K]['start'];
  /** Absent for an opened world. */
  readonly end: Effects[K]['end'] | undefined;
  /** The request with its edits. */
  readonly message: LoggedMessage | undefined;
  /** seq of the end; for a live effect, the last written seq. */
  readonly endSeq: number;
  readonly recorded: boolean;
}

interface ActParts {
  readonly log: Log;
  readonly recorder: Recorder;
  readonly prefix: Prefix;
  readonly edits: Edits;
  readonly gates: Gates;
  readonly flights: Flights;
  /** Limits, cancellation, loss of the lease: no new effect starts after it. */
  readonly stop: Stop;
  /**
   * Called when the requests of a fork differ from its prefix. `lost`: the recorded answers of this agent can no longer
   * be used.
   */
  diverged(request: PrefixRequest, lost: boolean): void;
}

const START_KIND = { model: 'model.start', tool: 'tool.start', world: 'world.open' } as const;
const END_KIND = { model: 'model.end', tool: 'tool.end', world: 'world.close' } as const;

/**
 * Performs all outside effects. A request that the prefix answers is not performed; any other goes through: start
 * event, gate, effect, its message and end event in one append, gate. An answer inside a tool call that is made again
 * is recorded again, so that everything inside the call belongs to one `tool.start`.
 */
export class Act {
  readonly #parts: ActParts;

  constructor(parts: ActParts) {
    this.#parts = parts;
  }

  /** Performs one effect. Rejects with the reason of a stop, or with PrefixDivergence. */
  async one<K extends EffectKind>(request: ActRequest<K>): Promise<EffectResult<K>> {
    const [done] = await this.all([request]);
    if (done === undefined) throw new Error('one request has one promise');
    return done;
  }

  /**
   * Performs effects requested together. The starts of those that are not recorded are written in one append, in order.
   */
  async all<K extends EffectKind>(requests: readonly ActRequest<K>[]): Promise<Promise<EffectResult<K>>[]> {
    const matches = requests.map((request) => this.#match(request));
    const live = matches.some((match) => match.how !== 'answered');
    const starts = live ? await this.#start(requests, matches) : [];
    return requests.map((request, index) => {
      const match = matches[index];
      const inTurn = (run: () => Promise<EffectResult<K>>, recorded?: number): Promise<EffectResult<K>> =>
        request.queue === undefined ? run() : request.queue.run(run, recorded);
      if (match?.how === 'answered') {
        const { action } = match;
        return inTurn(
          () => (isOtherTry(request) ? this.#copy(request, action) : this.#answer(request, action)),
          action.seq,
        );
      }
      const start = starts[index];
      if (start === undefined) throw new Error('unanswered request without a start');
      const lost = match?.how === 'repeat' ? match.action : undefined;
      return inTurn(() => this.#perform(request, start.seq, start.data, lost));
    });
  }

  #match<K extends EffectKind>(request: ActRequest<K>): Match<K> {
    const match = this.#parts.prefix.take(request);
    if (match.how === 'answered' ? !match.exact : match.how === 'new' && match.diverged)
      this.#parts.diverged(request, match.how === 'new');
    return match;
  }

  /** Writes the starts of all unanswered requests. */
  async #start<K extends EffectKind>(
    requests: readonly ActRequest<K>[],
    matches: readonly Match<K>[],
  ): Promise<({ readonly seq: number; readonly data: Effects[K]['start'] } | undefined)[]> {
    const { log, recorder } = this.#parts;
    const stop = requests[0]?.stop ?? this.#parts.stop;
    stop.check();
    await stop.race(recorder.waitForRoom());
    await this.#admitted(requests[0]);
    const drafts: Draft[] = [];
    const blobs: PendingBlob[] = [];
    const starts = requests.map((request, index) => {
      const match = matches[index];
      if (match?.how === 'answered') return undefined;
      const start = request.start(match?.how === 'repeat' ? match.action : undefined);
      if (start.blobs !== undefined) blobs.push(...start.blobs);
      // `Effects` relates the kind and its data, but the compiler cannot follow the type parameter.
      drafts.push({
        kind: START_KIND[request.kind],
        agent: agentOf(request),
        parent: request.parent,
        data: start.data,
      } as Draft);
      return { data: start.data, index: drafts.length - 1 };
    });
    const first = log.append(drafts, blobs);
    return starts.map((start) => (start === undefined ? undefined : { seq: first + start.index, data: start.data }));
  }

  /** Notes whether a model call waits for its turn: then no request of it is answered at the moment. */
  setWaiting(span: number, waits: boolean): void {
    this.#parts.flights.setWaiting(span, waits);
  }

  /** Waits while the rollout is being handed over. */
  async #admitted(request: ActRequest | undefined): Promise<void> {
    const { flights } = this.#parts;
    const stop = request?.stop ?? this.#parts.stop;
    for (let gate = flights.gate(request?.parent); gate !== undefined; gate = flights.gate(request?.parent))
      await stop.race(gate);
  }

  async #answer<K extends EffectKind>(request: ActRequest<K>, action: RecordedAction<K>): Promise<EffectResult<K>> {
    const { prefix, edits, gates } = this.#parts;
    const { end } = action;
    if (end === undefined) throw new Error('only ended actions are answers');
    const subject: Subject<K> = {
      agent: request.agent,
      kind: request.kind,
      name: request.name,
      span: action.seq,
      step: stepOf(request, action.start),
      start: action.start,
      end: { ...end },
    };
    await gates.passRecorded(subject);
    // The next request of the agent shows which edits it had seen.
    const message =
      end.message === undefined ? undefined : edits.resolve(end.message, prefix.nextStart(request.agent, end.seq));
    const done: EffectResult<K> = {
      span: action.seq,
      start: action.start,
      end: end.data,
      message,
      endSeq: end.seq,
      recorded: true,
    };
    await request.settled?.(done);
    return done;
  }

  /** Records the answer inside an earlier try of a tool call as one inside this try. It costs nothing again. */
  async #copy<K extends EffectKind>(request: ActRequest<K>, action: RecordedAction<K>): Promise<EffectResult<K>> {
    const { log, gates, edits } = this.#parts;
    const { end, start } = action;
    if (end === undefined) throw new Error('only ended actions are answers');
    (request.stop ?? this.#parts.stop).check();
    const agent = agentOf(request);
    const message = end.message === undefined ? undefined : edits.resolve(end.message);
    // Only calls of side models are inside other calls.
    const data = copyOf(end.data as EventData['model.end'], message?.m) as Effects[K]['end'];
    const span = log.last + 1;
    // As in #start.
    log.append([
      { kind: START_KIND[request.kind], agent, parent: request.parent, data: start } as Draft,
      { kind: END_KIND[request.kind], agent, span, data } as Draft,
    ]);
    const subject: Subject<K> = { ...subjectOf(request, span, start), end: { seq: log.last, data, message } };
    await gates.passRecorded(subject, action.seq);
    return { span, start, end: data, message: subject.end?.message, endSeq: log.last, recorded: true };
  }

  async #perform<K extends EffectKind>(
    request: ActRequest<K>,
    span: number,
    start: Effects[K]['start'],
    lost: RecordedAction<K> | undefined,
  ): Promise<EffectResult<K>> {
    const { log, gates, flights, recorder } = this.#parts;
    const stop = request.stop ?? this.#parts.stop;
    const subject: Subject<K> = {
      ...subjectOf(request, span, start),
      ...(request.isNew === undefined ? {} : { isNew: request.isNew }),
      ...(request.stop === undefined ? {} : { stop }),
    };
    if (lost !== undefined) this.#repeatEdits(subject, lost);
    const before = gates.pass('before', subject, lost?.seq);
    if (before !== undefined) await before.catch((error: unknown) => this.#endEarly(request, span, error));
    if (subject.end === undefined) {
      if (request.onlyStored === true) await stop.race(recorder.flushed());
      if (flights.gate(request.parent) !== undefined) await this.#admitted(request);
      const outcome = await flights.during(span, request.endless === true, () =>
        request.perform(subject.start, subject, lost?.seq),
      );
      if (!log.isOpen(span)) throw stop.reason ?? new ClassedError('cancelled', 'It was ended externally.');
      this.#end(subject, outcome);
    }
    const after = gates.pass('after', subject, lost?.seq);
    if (after !== undefined) await after;
    const done: EffectResult<K> = {
      span,
      start: subject.start,
      end: subject.end?.data,
      message: subject.end?.message,
      endSeq: subject.end?.seq ?? log.last,
      recorded: false,
    };
    const settled = request.settled?.(done);
    if (settled !== undefined) await flights.during(span, request.endless === true, () => settled);
    return done;
  }

  /** Ends what was held when the tool call around it ended. Throws the reason. */
  #endEarly<K extends EffectKind>(request: ActRequest<K>, span: number, error: unknown): never {
    const { log } = this.#parts;
    const reason = request.stop?.reason;
    if (reason === undefined || !log.isOpen(span)) throw error;
    const data = endData(START_KIND[request.kind], reason.toTrace());
    log.append([{ kind: END_KIND[request.kind], agent: agentOf(request), span, data } as Draft]);
    throw reason;
  }

  /** Repeats the edits of a repeated request. */
  #repeatEdits<K extends EffectKind>(subject: Subject<K>, lost: RecordedAction<K>): void {
    const { log, edits } = this.#parts;
    const repeated = edits.ofStart(lost.seq);
    if (repeated.length === 0) return;
    log.append(
      repeated.map(({ path, value, by }) => ({
        kind: 'edit',
        agent: subject.agent === '' ? undefined : subject.agent,
        span: subject.span,
        data: { of: { seq: subject.span }, path, value, ...(by === undefined ? {} : { by }) },
      })),
    );
    for (const edit of repeated) {
      subject.start = editStart(subject.kind, subject.start, edit.path, edit.value);
      edits.addToStart(subject.span, edit);
    }
  }

  #end<K extends EffectKind>(subject: Subject<K>, outcome: Outcome<K>): void {
    const { log } = this.#parts;
    if (outcome.end === undefined) return;
    const agent = agentOf(subject);
    const drafts: Draft[] = [];
    if (outcome.changes !== undefined && outcome.changes.length > 0) {
      drafts.push({ kind: 'world.diff', agent, span: subject.span, data: { changes: [...outcome.changes] } });
    }
    const message = outcome.message === undefined ? undefined : log.addMessage(outcome.message);
    if (message !== undefined && outcome.message !== undefined)
      drafts.push(messageDraft(message, outcome.message, agent));
    const data: Effects[K]['end'] = message === undefined ? outcome.end : { ...outcome.end, m: message.m };
    drafts.push({ kind: END_KIND[subject.kind], agent, span: subject.span, data } as Draft); // as in #start
    const seq = log.append(drafts, outcome.blobs, outcome.refs) + drafts.length - 1;
    subject.end = { seq, data, message };
    if (outcome.changes !== undefined) subject.changes = outcome.changes;
  }
}

/** Returns whether the recorded answer of a request is inside an earlier try of the tool call that contains it. */
function isOtherTry({ within, parent }: ActRequest): boolean {
  return within !== undefined && within !== parent;
}

function subjectOf<K extends EffectKind>(request: ActRequest<K>, span: number, start: Effects[K]['start']): Subject<K> {
  const { agent, kind, name, caller } = request;
  return { agent, kind, name, span, step: stepOf(request, start), start, ...(caller === undefined ? {} : { caller }) };
}

function stepOf<K extends EffectKind>({ step }: ActRequest<K>, start: Effects[K]['start']): number {
  return 'step' in start ? start.step : step;
}

function agentOf(action: { readonly agent: string }): string | undefined {
  return action.agent === '' ? undefined : action.agent;
}

/** Returns the end of a call that was answered from the record of an earlier try: what it cost was counted there. */
function copyOf(
  {
    status,
    finish_reason: reason,
    weights,
    weights_from: weightsFrom,
    trainable,
    why_not: why,
    error,
  }: EventData['model.end'],
  m: number | undefined,
): EventData['model.end'] {
  return {
    status,
    ...(m === undefined ? {} : { m }),
    ...(reason === undefined ? {} : { finish_reason: reason }),
    ms: 0,
    ...(weights === undefined ? {} : { weights }),
    ...(weightsFrom === undefined ? {} : { weights_from: weightsFrom }),
    trainable,
    ...(why === undefined ? {} : { why_not: why }),
    source: 'recorded',
    ...(error === undefined ? {} : { error }),
  };
}
