/** Counts earlier calls of a tool with the same arguments: `tool.repeats` in expressions. */
import { sha256Hex } from '../common/hash.ts';
import { canonicalJson } from '../common/json.ts';
import type { EventOf } from './schema.ts';

/** Longer texts are hashed. Most calls are short, and hashing all calls of a long trajectory would take seconds. */
const MAX_KEY = 256;

export class Repeats {
  /** Calls so far, by name and arguments. */
  readonly #counts = new Map<string, number>();
  /** By the seq of the call's start. */
  readonly #before = new Map<number, number>();

  /** Adds a call. Calls must be added in the order of their start. */
  add({ seq, data }: EventOf<'tool.start'>): void {
    const text = canonicalJson([data.name, data.arguments]);
    const key = text.length <= MAX_KEY ? text : sha256Hex(text);
    const before = this.#counts.get(key) ?? 0;
    this.#counts.set(key, before + 1);
    if (before > 0) this.#before.set(seq, before);
  }

  /** Returns the number of equal earlier calls; 0 for the first. */
  of(seq: number): number {
    return this.#before.get(seq) ?? 0;
  }
}
