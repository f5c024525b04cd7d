import { StringDecoder } from 'node:string_decoder';
import { KEPT_BYTES } from '../modules/limits.ts';

/** Collects the output of a process: keeps the beginning and counts the rest. */
export class Output {
  readonly #decoder = new StringDecoder('utf8');
  readonly #chunks: string[] = [];
  readonly #limit: number;
  #bytes = 0;

  constructor(limit: number = KEPT_BYTES) {
    this.#limit = limit;
  }

  /** Adds a chunk and returns its text. */
  push(chunk: Buffer): string {
    const before = this.#bytes;
    this.#bytes += chunk.length;
    const text = this.#decoder.write(chunk);
    if (before < this.#limit)
      this.#chunks.push(before + chunk.length <= this.#limit ? text : text.slice(0, this.#limit - before));
    return text;
  }

  get text(): string {
    return this.#chunks.join('');
  }

  /** UTF-8 bytes of the full output, if `text` is cut. */
  get bytes(): number | undefined {
    return this.#bytes > this.#limit ? this.#bytes : undefined;
  }
}

/** The last lines of a process's output, for messages about its end. */
export class LastLines {
  #text = '';

  push(text: string): void {
    this.#text += text;
    if (this.#text.length <= 2 * KEPT_CHARS) return;
    const kept = this.#text.slice(-KEPT_CHARS);
    // Without the rest of a word, which may be the end of a secret.
    const start = kept.search(/\s/);
    this.#text = `…${start === -1 ? '' : kept.slice(start)}`;
  }

  /** Returns the last `count` lines, ignoring trailing empty lines. */
  last(count: number): string {
    return this.#text.trimEnd().split('\n').slice(-count).join('\n');
  }
}

const KEPT_CHARS = 4096;
