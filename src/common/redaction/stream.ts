import type { Redactor } from './redactor.ts';

/** Redacts a text that arrives in pieces: withholds its end as long as a secret may begin there. */
export class RedactedStream {
  readonly #redactor: Redactor;
  #withheld = '';

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** Returns what can be shown now. */
  add(text: string): string {
    const { text: shown, rest } = this.#redactor.beginning(this.#withheld + text);
    this.#withheld = rest;
    return shown;
  }

  /** Returns what was withheld, at the end of the text. */
  end(): string {
    const rest = this.#redactor.text(this.#withheld);
    this.#withheld = '';
    return rest;
  }
}
