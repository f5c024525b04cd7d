/** The messages of a stream by ordinal, and the edited messages that replace others. */
import type { Json } from '../../common/json.ts';
import type { EventData, EventOf, Part } from '../schema.ts';

export interface MessageEntry {
  readonly m: number;
  readonly event: EventOf<'message'>;
  /** Edits of this message, in order. */
  readonly edits: EventOf<'edit'>[];
  /** The edited message that replaces it. */
  editedBy?: MessageEntry;
  /** Ordinal of the message that this one replaces. */
  readonly editOf?: number;
}

export class MessageBook {
  readonly #entries = new Map<number, MessageEntry>();
  readonly #order: MessageEntry[] = [];
  /** The message of the last edit, until the edited message arrives. */
  #edited: MessageEntry | undefined;

  /** All messages, in order of their seq. */
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

  /** Returns the message that replaces `m` at `seq`: its last edited form, else itself. */
  current(m: number, seq = Infinity): MessageEntry | undefined {
    let entry = this.#entries.get(m);
    while (entry?.editedBy !== undefined && entry.editedBy.event.seq <= seq) entry = entry.editedBy;
    return entry;
  }
}

/** Returns the text of a message, or its reasoning. Stored blobs contribute only their beginning. */
/** Returns whether no model of the rollout wrote this reply: the conversation that the task continues has it. */
export function isGivenReply({ role, origin }: EventData['message']): boolean {
  return role === 'assistant' && origin === 'given';
}

export function textOf(parts: readonly Part[], type: 'text' | 'reasoning' = 'text'): string {
  const texts: string[] = [];
  for (const part of parts) {
    if (part.type === type) texts.push(typeof part.content === 'string' ? part.content : part.content.head);
  }
  return texts.join('\n');
}

/** Returns the response to a call in a tool message: the one with the call's ID, else the first. */
export function responseIn(parts: readonly Part[], call: string): Json | undefined {
  const responses = parts.filter((part) => part.type === 'tool_call_response');
  return (responses.find((part) => part.id === call) ?? responses[0])?.response;
}
