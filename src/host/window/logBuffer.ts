/** Keeps the newest lines of a log. */
import { errorText } from '../../common/errors.ts';

export class LogBuffer {
  readonly #limit: number;
  readonly #lines: string[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  add(level: string, message: string | Error, args: readonly unknown[]): void {
    const texts = [message, ...args].map((part) => (typeof part === 'string' ? part : errorText(part)));
    this.#lines.push(`${new Date().toISOString()} [${level}] ${texts.join(' ')}`);
    if (this.#lines.length > this.#limit) this.#lines.splice(0, this.#lines.length - this.#limit);
  }
}
