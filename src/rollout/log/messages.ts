import { canonicalJson } from '../../common/json.ts';
import type { Origin, Part, Role } from '../../trace/schema.ts';
import type { Message } from '../ports.ts';

export type Sha256 = (data: string | Uint8Array) => string;

/** A message as the log has it. Its hash (of role and parts) is computed on first use. */
export class LoggedMessage implements Message {
  readonly m: number;
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly origin: Origin;
  readonly #sha256: Sha256;
  #hash: string | undefined;

  constructor(fields: { m: number; role: Role; parts: readonly Part[]; origin: Origin }, sha256: Sha256) {
    this.m = fields.m;
    this.role = fields.role;
    this.parts = fields.parts;
    this.origin = fields.origin;
    this.#sha256 = sha256;
  }

  get hash(): string {
    this.#hash ??= hashMessage(this.role, this.parts, this.#sha256);
    return this.#hash;
  }
}

function hashMessage(role: Role, parts: readonly Part[], sha256: Sha256): string {
  return sha256(canonicalJson([role, parts]));
}

/** All messages of a log by ordinal, and by content. */
export class Messages {
  readonly #sha256: Sha256;
  readonly #byOrdinal: (LoggedMessage | undefined)[] = [];
  /** By a cheap look at the content; what looks alike is then compared by hash. */
  readonly #alike = new Map<string, LoggedMessage[]>();

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  /** The ordinal the next message gets. */
  get next(): number {
    return Math.max(this.#byOrdinal.length, 1);
  }

  get(m: number): LoggedMessage | undefined {
    return this.#byOrdinal[m];
  }

  add(fields: { m: number; role: Role; parts: readonly Part[]; origin: Origin }): LoggedMessage {
    const message = new LoggedMessage(fields, this.#sha256);
    this.#byOrdinal[fields.m] = message;
    const look = lookOf(fields.role, fields.parts);
    const alike = this.#alike.get(look);
    if (alike === undefined) this.#alike.set(look, [message]);
    else alike.push(message);
    return message;
  }

  /** The first message with this very content. */
  find(role: Role, parts: readonly Part[]): LoggedMessage | undefined {
    const alike = this.#alike.get(lookOf(role, parts));
    if (alike === undefined) return undefined;
    const hash = hashMessage(role, parts, this.#sha256);
    return alike.find((message) => message.hash === hash);
  }
}

/** Equal content looks equal; most different content does not. */
function lookOf(role: Role, parts: readonly Part[]): string {
  let look = `${role} ${parts.length}`;
  for (const part of parts) {
    look += ` ${part.type}`;
    if ((part.type === 'text' || part.type === 'reasoning') && typeof part.content === 'string') {
      look += ` ${part.content.length} ${part.content.slice(-24)}`;
    } else if (part.type === 'tool_call' || part.type === 'tool_call_response') {
      look += ` ${part.id}`;
    }
  }
  return look;
}

/**
 * One sha256 for a list of messages, as a chain over theirs: a list that goes on where the last one ended costs
 * one hash for each new message.
 */
export class ContextHash {
  readonly #sha256: Sha256;
  #hashes: string[] = [];
  #chain: string[] = [];

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  of(messages: readonly LoggedMessage[]): string {
    let same = 0;
    while (same < messages.length && same < this.#hashes.length && messages[same]?.hash === this.#hashes[same]) same++;
    this.#hashes.length = same;
    this.#chain.length = same;
    for (const message of messages.slice(same)) {
      this.#hashes.push(message.hash);
      this.#chain.push(this.#sha256(`${this.#chain.at(-1) ?? ''}${message.hash}`));
    }
    return this.#chain.at(-1) ?? '';
  }
}

/** The text of a message: its text parts one after the other, without reasoning. */
export function textOf(parts: readonly Part[]): string {
  let text = '';
  for (const part of parts) if (part.type === 'text' && typeof part.content === 'string') text += part.content;
  return text;
}
