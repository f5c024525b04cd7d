/** The messages of a stream by ordinal, and which of them an edit put in the place of another. */
import type { Json } from '../../common/json.ts';
import type { EventOf, Part } from '../schema.ts';

export interface MessageEntry {
  readonly m: number;
  readonly event: EventOf<'message'>;
  /** Edits that named this message, in order. */
  readonly edits: EventOf<'edit'>[];
  /** The message an edit put in its place. The sampled one stays in the log. */
  editedBy?: MessageEntry;
  /** Ordinal of the message this one stands for. */
  readonly editOf?: number;
}

export class MessageBook {
  readonly #entries = new Map<number, MessageEntry>();
  readonly #order: MessageEntry[] = [];
  /** The last message an edit named, until the edited one comes. */
  #edited: MessageEntry | undefined;

  /** All, in order of their seq. */
  get all(): readonly MessageEntry[] {
    return this.#order;
  }

  get(m: number): MessageEntry | undefined {
    return this.#entries.get(m);
  }

  add(event: EventOf<'message'>): void {
    const replaces = event.data.origin === 'edited' ? this.#edited : undefined;
    const entry: MessageEntry = {
      m: event.data.m,
      event,
      edits: [],
      ...(replaces === undefined ? {} : { editOf: replaces.m }),
    };
    if (replaces !== undefined) {
      replaces.editedBy = entry;
      this.#edited = undefined;
    }
    this.#entries.set(entry.m, entry);
    this.#order.push(entry);
  }

  edit(m: number, event: EventOf<'edit'>): void {
    const entry = this.#entries.get(m);
    entry?.edits.push(event);
    this.#edited = entry;
  }

  /** What stands for message `m` at `seq`: the last edited form of it, else itself. */
  shown(m: number, seq = Infinity): MessageEntry | undefined {
    let entry = this.#entries.get(m);
    while (entry?.editedBy !== undefined && entry.editedBy.event.seq <= seq) entry = entry.editedBy;
    return entry;
  }
}

/** The text of a message's text parts (`reasoning` apart), references by their beginning. */
export function textOf(parts: readonly Part[], type: 'text' | 'reasoning' = 'text'): string {
  const texts: string[] = [];
  for (const part of parts) {
    if (part.type === type) texts.push(typeof part.content === 'string' ? part.content : part.content.head);
  }
  return texts.join('\n');
}

/** The response to a call in the parts of a tool message: the one with its id, else the only one. */
export function responseIn(parts: readonly Part[], call: string): Json | undefined {
  const responses = parts.filter((part) => part.type === 'tool_call_response');
  return (responses.find((part) => part.id === call) ?? responses[0])?.response;
}
