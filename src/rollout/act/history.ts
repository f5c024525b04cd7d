import { canonicalJson, type Json } from '../../common/json.ts';
import { isOfBatch } from '../../trace/holder.ts';
import type { Context, EventData, EventOf, TraceEvent } from '../../trace/schema.ts';
import { type ReadBlob, unspill } from '../../trace/spill.ts';
import { Edits } from '../gates/edits.ts';
import type { Log } from '../log/log.ts';
import { ContextHash, type LoggedMessage, type Sha256 } from '../log/messages.ts';
import { type EffectKind, endOf, isLost, type RecordedAction } from './recorded.ts';

/** A message injected by a person. `seq` determines which calls see it, as with edits. */
export interface InjectedMessage {
  readonly seq: number;
  readonly message: LoggedMessage;
}

/** The hold at the end of the log. */
export interface OpenHold {
  /** seq of the start whose gate it waited at. */
  readonly span: number;
  readonly side: 'before' | 'after';
  readonly why: EventData['hold']['why'];
  readonly breakpoint: string | undefined;
  readonly by: string | undefined;
  /** Whether the batch was paused, rather than this rollout held by a command. */
  readonly ofBatch: boolean;
  /** Whether a holder took over and was lost before it reached the gate again. */
  carried: boolean;
}

/** Header of an injected message, with the ID of its command. */
export const INJECTED = 'injected';

/** Paths where blobs may replace values that are needed later. */
const WHOLE_KINDS = new Set<string>(['message', 'tool.start', 'model.start', 'edit', 'rollout.end']);

/** Everything that a rollout needs from its recorded events: read once, in order, before anything runs. */
export class History {
  readonly actions: RecordedAction[] = [];
  readonly edits = new Edits();
  /** By agent, in order. */
  readonly #injected = new Map<string, InjectedMessage[]>();
  /** Messages between agents, by recipient. */
  readonly #mail = new Map<string, LoggedMessage[]>();
  openHold: OpenHold | undefined;
  /** The initial state of the world, if it is known. */
  template: string | undefined;
  /** The newest snapshot of the world. */
  snapshot: { readonly seq: number; readonly sha: string } | undefined;
  snapshots = 0;
  /** seqs of the tool starts whose calls changed the world. */
  readonly changing = new Set<number>();
  /**
   * The instances of a team's members that began, at what active time of this rollout, and whether their end is
   * recorded.
   */
  readonly members = new Map<string, { readonly seq: number; readonly activeMs: number; ended: boolean }>();
  /** seqs of the tool starts behind which another agent works. */
  readonly delegating = new Set<number>();
  /** The number of the newest step. */
  lastStep = 0;
  /** The score of this rollout, if it was scored. */
  score: EventData['score'] | undefined;
  /** Scores of tool calls: seq of the start, and scorer. */
  readonly #callScores = new Set<string>();
  /** Predictions that were scored, by seqs of the tool starts of their calls; undefined where the world gave none. */
  readonly predicted = new Map<number, Json | undefined>();
  /** Whether a person changed this rollout while it ran. */
  touched = false;
  /** Milliseconds that this rollout ran under earlier holders, not counting holds and waits for endpoints. */
  wallMs = 0;
  activeMs = 0;
  /** Whether the last holder handed the rollout over, rather than being lost. */
  handedOver = false;
  /** Whether the ends that are read belong to calls that were open then. */
  #dropping = false;
  /** seqs of the starts of calls that a handover ended, so that they did not end a worker. */
  readonly #dropped = new Set<number>();
  readonly #own: number;
  readonly #contextHash: ContextHash;
  readonly #log: Log;
  readonly #byStart = new Map<number, RecordedAction>();
  #at: number | undefined;
  #pendingEdit: EventOf<'edit'> | undefined;

  private constructor(log: Log, ownFrom: number, sha256: Sha256) {
    this.#log = log;
    this.#own = ownFrom;
    this.#contextHash = new ContextHash(sha256);
  }

  /**
   * Reads events from 1 on into the log and returns their history. `ownFrom`: the first seq that does not belong to an
   * ancestor. `seen` receives every complete event, own or not. Rejects as `read` does.
   */
  static async read(
    events: Iterable<TraceEvent>,
    log: Log,
    ownFrom: number,
    sha256: Sha256,
    read: ReadBlob,
    observe: (event: TraceEvent, own: boolean) => void,
  ): Promise<History> {
    const history = new History(log, ownFrom, sha256);
    for (const stored of events) {
      const event = WHOLE_KINDS.has(stored.kind) || isAltered(stored) ? await unspill(stored, read) : stored;
      log.recall(event);
      history.#take(event);
      observe(event, event.seq >= ownFrom);
    }
    return history;
  }

  #take(event: TraceEvent): void {
    const own = event.seq >= this.#own;
    if (own) this.#time(event);
    const { handedOver } = this;
    this.handedOver = false;
    const edit = this.#pendingEdit;
    this.#pendingEdit = undefined;
    switch (event.kind) {
      case 'message':
        this.#message(event, edit);
        return;
      case 'model.start':
        this.lastStep = Math.max(this.lastStep, event.data.step);
        this.#start(event, 'model', 'model', this.#contextHash.of(this.#messages(event.data.context)));
        return;
      case 'tool.start':
        this.#start(event, 'tool', event.data.name, toolKey(event.data));
        return;
      case 'world.open':
        this.template = event.data.template;
        this.#start(event, 'world', event.data.world, worldKey(event.data));
        return;
      case 'model.end':
      case 'tool.end':
        this.#end(event);
        if (own && event.data.source === 'edited') this.touched = true;
        if (own && event.kind === 'model.end') for (const retry of event.data.retries ?? []) this.activeMs -= retry.ms;
        return;
      case 'agent.start':
        if (event.agent !== undefined)
          this.members.set(event.agent, { seq: event.seq, activeMs: this.activeMs, ended: false });
        if (event.parent !== undefined) this.delegating.add(event.parent);
        return;
      case 'agent.end': {
        const member = this.members.get(event.agent ?? '');
        if (member !== undefined && member.seq === event.span && !isLost(event.data)) member.ended = true;
        return;
      }
      case 'world.diff':
        if (event.span !== undefined) this.changing.add(event.span);
        return;
      case 'world.snapshot':
        this.snapshot = { seq: event.seq, sha: event.data.snapshot };
        this.snapshots++;
        return;
      case 'edit':
        this.#edit(event, own);
        return;
      case 'hold':
        // Holds of ancestors do not count.
        if (own)
          this.openHold = {
            span: event.span ?? 0,
            side: event.data.side,
            why: event.data.why,
            breakpoint: event.data.breakpoint,
            by: event.data.by,
            ofBatch: isOfBatch(event.data),
            carried: false,
          };
        return;
      case 'release':
        this.openHold = undefined;
        return;
      case 'rollout.lease':
        if (this.openHold !== undefined) this.openHold.carried = true;
        this.#dropping = handedOver;
        return;
      case 'rollout.handover':
        this.handedOver = own;
        return;
      case 'score':
        if (event.span !== undefined) this.#callScores.add(`${event.span}:${event.data.scorer}`);
        else if (own) this.score = event.data;
        if (event.span !== undefined && event.data.prediction !== undefined)
          this.predicted.set(event.span, event.data.prediction.response);
        return;
      default:
    }
  }

  /** Counts the time since the previous event, except in a hold or without a worker. */
  #time(event: TraceEvent): void {
    const passed = this.#at === undefined ? 0 : event.at - this.#at;
    this.#at = event.at;
    if (event.kind === 'rollout.lease' || (this.openHold !== undefined && !this.openHold.carried)) return;
    this.wallMs += passed;
    this.activeMs += passed;
  }

  #message(event: EventOf<'message'>, edit: EventOf<'edit'> | undefined): void {
    const message = this.#log.messages.add(event.data);
    const headers = event.data.headers;
    if (headers !== undefined && Object.hasOwn(headers, INJECTED)) {
      this.inbox(event.agent ?? '').push({ seq: event.seq, message });
      if (event.seq >= this.#own) this.touched = true;
    }
    const { to, topic, role } = event.data;
    if (to !== undefined && topic !== undefined && role === 'user') this.mail(to).push(message);
    if (edit === undefined || event.data.origin !== 'edited') return;
    const m = edit.data.of.m ?? (edit.data.of.seq === undefined ? undefined : this.messageOf(edit.data.of.seq));
    const target = m === undefined ? undefined : this.#log.messages.get(m);
    if (target !== undefined) this.edits.replace(edit.seq, this.edits.resolve(target).m, message);
  }

  /** The ordinal of the message of an end, by the seq of that end. */
  messageOf(seq: number): number | undefined {
    return this.actions.find((action) => action.end?.seq === seq)?.end?.message?.m;
  }

  #edit(event: EventOf<'edit'>, own: boolean): void {
    const { of, path, value, by, command } = event.data;
    if (own && command !== undefined) this.touched = true;
    if (of.seq !== undefined && this.#byStart.has(of.seq)) this.edits.addToStart(of.seq, { path, value, by });
    else this.#pendingEdit = event;
  }

  #start(
    event: EventOf<'model.start' | 'tool.start' | 'world.open'>,
    kind: EffectKind,
    name: string,
    key: string,
  ): void {
    const within = event.kind === 'model.start' && event.data.side !== undefined ? event.parent : undefined;
    const action: RecordedAction = {
      agent: event.agent ?? '',
      kind,
      name,
      key,
      seq: event.seq,
      start: event.data,
      ...(within === undefined ? {} : { within }),
    };
    this.#dropping = false;
    this.actions.push(action);
    this.#byStart.set(event.seq, action);
  }

  #end(event: EventOf<'model.end' | 'tool.end'>): void {
    const action = event.span === undefined ? undefined : this.#byStart.get(event.span);
    if (action === undefined) return;
    const message = event.data.m === undefined ? undefined : this.#log.messages.get(event.data.m);
    action.end = endOf(event, message);
    if (this.#dropping || (event.kind === 'tool.end' && event.data.made === false)) this.#dropped.add(action.seq);
  }

  #messages(context: Context): LoggedMessage[] {
    const messages: LoggedMessage[] = [];
    for (const [from, to] of context) {
      for (let m = from; m <= to; m++) {
        const message = this.#log.messages.get(m);
        if (message !== undefined) messages.push(message);
      }
    }
    return messages;
  }

  /** Whether the record has a score of a tool call by this scorer. `span`: seq of its start. */
  hasCallScore(span: number, scorer: string): boolean {
    return this.#callScores.has(`${span}:${scorer}`);
  }

  /** Drops all snapshots: the world begins in another state than they do. */
  dropSnapshots(): void {
    this.snapshot = undefined;
    this.snapshots = 0;
  }

  /** Returns the inbox of an agent, for messages injected so far and later. */
  inbox(agent: string): InjectedMessage[] {
    let inbox = this.#injected.get(agent);
    if (inbox === undefined) this.#injected.set(agent, (inbox = []));
    return inbox;
  }

  /** Returns the messages of other agents to an instance, in order. */
  mail(path: string): LoggedMessage[] {
    let mail = this.#mail.get(path);
    if (mail === undefined) this.#mail.set(path, (mail = []));
    return mail;
  }

  /** Returns the finished tool calls requested from seq `from` on, in the order they ended. */
  endedCalls(from: number): RecordedAction<'tool'>[] {
    return this.actions
      .filter(
        (action): action is RecordedAction<'tool'> =>
          action.kind === 'tool' && action.end !== undefined && !isLost(action.end.data),
      )
      .filter((action) => action.seq >= from)
      .sort((a, b) => (a.end?.seq ?? 0) - (b.end?.seq ?? 0));
  }

  /** Whether an agent or side model with this path made calls inside a tool call. */
  isInside(span: number, path: string): boolean {
    return this.actions.some(({ within, agent }) => within === span && agent === path);
  }

  /** Whether a tool call was waiting for a side model when its worker was lost, so it did not end the worker. */
  wasAsking(span: number): boolean {
    return this.actions.some(({ within, end }) => within === span && (end === undefined || isLost(end.data)));
  }

  /** Counts how often a tool call of an agent was lost with its worker, from seq `from` on. `key`: see `toolKey`. */
  lostCalls(from: number, agent: string, key: string): number {
    return this.actions.filter(
      (action) =>
        action.kind === 'tool' &&
        action.seq >= from &&
        action.agent === agent &&
        action.key === key &&
        isLost(action.end?.data) &&
        !this.#dropped.has(action.seq) &&
        !this.wasAsking(action.seq),
    ).length;
  }
}

/** Returns whether a rule changed the result of a call, so that the real one is compared when the call is repeated. */
function isAltered(event: TraceEvent): boolean {
  if (event.kind !== 'tool.end') return false;
  const { injected, cut, real } = event.data;
  return real !== undefined || (injected !== undefined && cut === undefined);
}

/** Returns a text to compare tool calls. */
export function toolKey(data: {
  readonly call: string;
  readonly name: string;
  readonly arguments: Json;
  readonly raw?: string | undefined;
}): string {
  return canonicalJson([data.call, data.name, data.arguments, data.raw]);
}

/** Returns a text to compare requests to open a world. */
export function worldKey(data: {
  readonly world: string;
  readonly seed?: number | undefined;
  readonly template?: string | undefined;
}): string {
  return canonicalJson([data.world, data.seed, ...(data.template === undefined ? [] : [data.template])]);
}
