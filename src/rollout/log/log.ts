import { NO_SECRETS, type Redactor } from '../../common/redaction/redactor.ts';
import { RedactedStream } from '../../common/redaction/stream.ts';
import type { Origin, Part, Role } from '../../trace/schema.ts';
import { type EventData, type EventKind, TRACE_VERSION, type TraceEvent } from '../../trace/schema.ts';
import { spill } from '../../trace/spill.ts';
import type { Clock, PendingBlob, Recorder } from '../ports.ts';
import { type LoggedMessage, Messages, type Sha256 } from './messages.ts';

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
  readonly side?: string | undefined;
  readonly priority?: number | undefined;
  readonly headers?: EventData['message']['headers'] | undefined;
}

/** Sender, recipient, topic, and headers of a message between agents, or the side model to which it belongs. */
export type Envelope = Pick<NewMessage, 'from' | 'to' | 'topic' | 'side' | 'priority' | 'headers'>;

/** Receives each event when it is appended, complete (before values become blobs). */
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
  readonly #redactor: Redactor | undefined;
  readonly #observers: Observer[] = [];
  /** Spans without an end, by seq of their start. */
  readonly #open = new Map<number, Extract<TraceEvent, { kind: StartKind }>>();
  #last = 0;
  #at = 0;
  #closed = false;
  #waiting: TraceEvent[] = [];

  constructor(recorder: Recorder, clock: Clock, sha256: Sha256, redactor?: Redactor) {
    this.#recorder = recorder;
    this.#clock = clock;
    this.#redactor = redactor;
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

  /** Whether the log is closed: nothing more can be appended. */
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

  /**
   * Adds an event that was recorded earlier. Events come in order; the caller adds messages, whose blobs it resolves.
   */
  recall(event: TraceEvent): void {
    this.#last = event.seq;
    this.#at = Math.max(this.#at, event.at);
    this.#track(event);
  }

  /**
   * Appends events atomically, after the messages queued by `queueMessage`. Returns the seq of the first event. `refs`:
   * SHA-256 of the blobs that values in these events refer to intentionally.
   */
  append(drafts: readonly Draft[], blobs: readonly PendingBlob[] = [], refs?: ReadonlySet<string>): number {
    const first = this.#last + 1;
    if (this.#closed) return first;
    for (const draft of drafts) this.#add(draft);
    this.#flush(blobs, refs);
    return first;
  }

  /** Queues a message: it is written with the next append. */
  queueMessage(message: NewMessage, agent: string | undefined): LoggedMessage {
    const added = this.addMessage(message);
    this.#add(messageDraft(added, message, agent));
    return added;
  }

  /** Returns the message with this content; if there is none, queues it for the next append. */
  intern(message: NewMessage, agent: string | undefined): LoggedMessage {
    return this.messages.find(message.role, this.#clean(message.parts)) ?? this.queueMessage(message, agent);
  }

  /** Returns the message with this content, if there is one. */
  find(message: Pick<NewMessage, 'role' | 'parts'>): LoggedMessage | undefined {
    return this.messages.find(message.role, this.#clean(message.parts));
  }

  /** Gives a message its ordinal. The caller creates its event with `messageDraft` and passes it to the next append. */
  addMessage(message: NewMessage): LoggedMessage {
    return this.messages.add({
      m: this.messages.next,
      role: message.role,
      parts: this.#clean(message.parts),
      origin: message.origin,
    });
  }

  #clean(parts: readonly Part[]): readonly Part[] {
    return this.#redactor === undefined ? parts : this.#redactor.json(parts);
  }

  /** Returns what redacts a text that is appended in pieces. */
  stream(): RedactedStream {
    return new RedactedStream(this.#redactor ?? NO_SECRETS);
  }

  /** Returns a text that was cut off, without what may remain of a secret at its end. */
  cleanCut(text: string): string {
    return this.#redactor?.cut(text) ?? text;
  }

  /** Closes the log: later appends are ignored. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }

  #add(draft: Draft): void {
    if (this.#closed) return;
    this.#last++;
    const { agent, span, parent } = draft;
    // A draft is an event without its envelope, but the compiler cannot follow the union through the spread.
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

/** Returns the event of a message that has an ordinal. */
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
      ...(extra.side === undefined ? undefined : { side: extra.side }),
      ...(extra.priority === undefined ? undefined : { priority: extra.priority }),
      ...(extra.headers === undefined ? undefined : { headers: extra.headers }),
    },
  };
}
