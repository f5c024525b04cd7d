import type { Origin, Part, Role } from '../../trace/schema.ts';
import { type EventData, type EventKind, TRACE_VERSION, type TraceEvent } from '../../trace/schema.ts';
import { spill } from '../../trace/spill.ts';
import type { Clock, PendingBlob, Recorder } from '../ports.ts';
import { type LoggedMessage, Messages, type Sha256 } from './messages.ts';
import { redactedPart } from './redactedPart.ts';

/** An event without the fields that the log adds: seq, version, and time. */
export type Draft = {
  [K in EventKind]: {
    readonly kind: K;
    readonly data: EventData[K];
    readonly agent?: string | undefined;
    /** seq of the start it belongs to. */
    readonly span?: number | undefined;
    readonly parent?: number | undefined;
  };
}[EventKind];

/** A message to append; the log adds the ordinal. */
export interface NewMessage {
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly origin: Origin;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly topic?: string | undefined;
  readonly priority?: number | undefined;
  readonly headers?: EventData['message']['headers'] | undefined;
}

/** Who says it to whom, about what. */
export type Envelope = Pick<NewMessage, 'from' | 'to' | 'topic' | 'priority' | 'headers'>;

/** Sees each event as it is appended, whole (nothing is a blob yet). */
type Observer = (event: TraceEvent) => void;

/** Starts and the ends that close them. */
export const END_OF = {
  'model.start': 'model.end',
  'tool.start': 'tool.end',
  'agent.start': 'agent.end',
  'world.open': 'world.close',
} as const;
export type StartKind = keyof typeof END_OF;
const ENDS = new Set<string>(Object.values(END_OF));

/** Whether an event opens a span. */
function isStart(event: TraceEvent): event is Extract<TraceEvent, { kind: StartKind }> {
  return Object.hasOwn(END_OF, event.kind);
}

/** The rollout's end of its stream: adds seq and time to events and passes them to the recorder. */
export class Log {
  readonly messages: Messages;
  readonly #recorder: Recorder;
  readonly #clock: Clock;
  readonly #redact: ((text: string) => string) | undefined;
  readonly #observers: Observer[] = [];
  /** Spans without an end, by seq of their start. */
  readonly #open = new Map<number, Extract<TraceEvent, { kind: StartKind }>>();
  #last = 0;
  #at = 0;
  #closed = false;
  #waiting: TraceEvent[] = [];

  constructor(recorder: Recorder, clock: Clock, sha256: Sha256, redact?: (text: string) => string) {
    this.#recorder = recorder;
    this.#clock = clock;
    this.#redact = redact;
    this.messages = new Messages(sha256);
  }

  /** seq of the last event. */
  get last(): number {
    return this.#last;
  }

  /** The time an event appended now gets. */
  now(): number {
    this.#at = Math.max(this.#at, Math.round(this.#clock.now()));
    return this.#at;
  }

  /** Whether nothing can be appended any more. */
  get closed(): boolean {
    return this.#closed;
  }

  get openSpans(): readonly Extract<TraceEvent, { kind: StartKind }>[] {
    return [...this.#open.values()];
  }

  isOpen(span: number): boolean {
    return this.#open.has(span);
  }

  observe(observer: Observer): void {
    this.#observers.push(observer);
  }

  /** Takes over what was recorded before. Events come in order; messages are added by whoever resolved their blobs. */
  recall(event: TraceEvent): void {
    this.#last = event.seq;
    this.#at = Math.max(this.#at, event.at);
    this.#track(event);
  }

  /**
   * One atomic append. Gives the seq of the first event; what was put off by `later` goes before it.
   * `refs`: shas of the blobs that values in these events refer to on purpose.
   */
  append(drafts: readonly Draft[], blobs: readonly PendingBlob[] = [], refs?: ReadonlySet<string>): number {
    const first = this.#last + 1;
    if (this.#closed) return first;
    for (const draft of drafts) this.#take(draft);
    this.#flush(blobs, refs);
    return first;
  }

  /** Appends a message along with the next append. */
  later(message: NewMessage, agent: string | undefined): LoggedMessage {
    const added = this.addMessage(message);
    this.#take(messageDraft(added, message, agent));
    return added;
  }

  /** The message with this content, or one appended along with the next append. */
  intern(message: NewMessage, agent: string | undefined): LoggedMessage {
    return this.messages.find(message.role, this.#clean(message.parts)) ?? this.later(message, agent);
  }

  /** Gives a message its ordinal. Its event is made by `messageDraft` and must be in the next append. */
  addMessage(message: NewMessage): LoggedMessage {
    return this.messages.add({
      m: this.messages.next,
      role: message.role,
      parts: this.#clean(message.parts),
      origin: message.origin,
    });
  }

  #clean(parts: readonly Part[]): readonly Part[] {
    const redact = this.#redact;
    return redact === undefined ? parts : parts.map((part) => redactedPart(part, redact));
  }

  /** After this nothing is appended any more. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }

  #take(draft: Draft): void {
    if (this.#closed) return;
    this.#last++;
    const { agent, span, parent } = draft;
    // A draft is the event of its kind but for the envelope; the compiler cannot follow the union through the spread.
    const event = {
      seq: this.#last,
      v: TRACE_VERSION,
      at: this.now(),
      kind: draft.kind,
      ...(agent === undefined ? undefined : { agent }),
      ...(span === undefined ? undefined : { span }),
      ...(parent === undefined ? undefined : { parent }),
      data: draft.data,
    } as TraceEvent;
    this.#track(event);
    for (const observer of this.#observers) observer(event);
    this.#waiting.push(event);
  }

  #flush(blobs: readonly PendingBlob[], refs: ReadonlySet<string> | undefined): void {
    if (this.#waiting.length === 0) return;
    const pending = [...blobs];
    const events = this.#waiting.map((whole) => {
      const spilled = spill(whole, refs);
      if (spilled.blobs.length > 0) pending.push(...spilled.blobs);
      return spilled.event;
    });
    this.#waiting = [];
    this.#recorder.append(events, pending);
  }

  #track(event: TraceEvent): void {
    if (isStart(event)) this.#open.set(event.seq, event);
    else if (event.span !== undefined && ENDS.has(event.kind)) this.#open.delete(event.span);
  }
}

/** The event of a message that has its ordinal. */
export function messageDraft(message: LoggedMessage, extra: Envelope, agent: string | undefined, span?: number): Draft {
  return {
    kind: 'message',
    agent,
    span,
    data: {
      m: message.m,
      role: message.role,
      parts: [...message.parts],
      origin: message.origin,
      ...(extra.from === undefined ? undefined : { from: extra.from }),
      ...(extra.to === undefined ? undefined : { to: extra.to }),
      ...(extra.topic === undefined ? undefined : { topic: extra.topic }),
      ...(extra.priority === undefined ? undefined : { priority: extra.priority }),
      ...(extra.headers === undefined ? undefined : { headers: extra.headers }),
    },
  };
}
