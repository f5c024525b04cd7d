import { canonicalJson } from '../../common/json.ts';
import type { Origin, Part, Role } from '../../trace/schema.ts';
import type { Message } from '../ports.ts';

export type Sha256 = (data: string | Uint8Array) => string;

/** A message in the log. Its hash (of role and parts) is computed on first use. */
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

/** All messages of a log, by ordinal and by content. */
export class Messages {
  readonly #sha256: Sha256;
  readonly #byOrdinal: (LoggedMessage | undefined)[] = [];
  /** Messages by a cheap digest of their content; those with the same digest are compared by hash. */
  readonly #byDigest = new Map<string, LoggedMessage[]>();

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  /** The ordinal of the next message. */
  get next(): number {
    return Math.max(this.#byOrdinal.length, 1);
  }

  get(m: number): LoggedMessage | undefined {
    return this.#byOrdinal[m];
  }

  add(fields: { m: number; role: Role; parts: readonly Part[]; origin: Origin }): LoggedMessage {
    const message = new LoggedMessage(fields, this.#sha256);
    this.#byOrdinal[fields.m] = message;
    const digest = digestOf(fields.role, fields.parts);
    const alike = this.#byDigest.get(digest);
    if (alike === undefined) this.#byDigest.set(digest, [message]);
    else alike.push(message);
    return message;
  }

  /** Returns the first message with exactly this content. */
  find(role: Role, parts: readonly Part[]): LoggedMessage | undefined {
    const alike = this.#byDigest.get(digestOf(role, parts));
    if (alike === undefined) return undefined;
    const hash = hashMessage(role, parts, this.#sha256);
    return alike.find((message) => message.hash === hash);
  }
}

/** Returns a cheap digest: equal content has equal digests, and most different content does not. */
function digestOf(role: Role, parts: readonly Part[]): string {
  let digest = `${role} ${parts.length}`;
  for (const part of parts) {
    digest += ` ${part.type}`;
    if ((part.type === 'text' || part.type === 'reasoning') && typeof part.content === 'string') {
      digest += ` ${part.content.length} ${part.content.slice(-24)}`;
    } else if (part.type === 'tool_call' || part.type === 'tool_call_response') {
      digest += ` ${part.id}`;
    }
  }
  return digest;
}

/**
 * Computes one SHA-256 for a list of messages, as a chain over their hashes. A list that extends the previous one costs
 * one hash per new message.
 */
export class ContextHash {
  readonly #sha256: Sha256;
  #hashes: string[] = [];
  #chain: string[] = [];

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  of(messages: readonly LoggedMessage[]): string {
    let shared = 0;
    while (shared < messages.length && shared < this.#hashes.length && messages[shared]?.hash === this.#hashes[shared])
      shared++;
    this.#hashes.length = shared;
    this.#chain.length = shared;
    for (const message of messages.slice(shared)) {
      this.#hashes.push(message.hash);
      this.#chain.push(this.#sha256(`${this.#chain.at(-1) ?? ''}${message.hash}`));
    }
    return this.#chain.at(-1) ?? '';
  }
}

/** Returns the text of a message: its text parts joined, without reasoning. */
export function textOf(parts: readonly Part[]): string {
  let text = '';
  for (const part of parts) if (part.type === 'text' && typeof part.content === 'string') text += part.content;
  return text;
}
