/** Batches the live text of one call: sends it every 50 ms or every 1 KiB, whichever comes first. */
const EVERY_MS = 50;
const EVERY_CHARACTERS = 1024;

export class Deltas {
  readonly #send: (text: string) => void;
  #text = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  add(text: string): void {
    this.#text += text;
    if (this.#text.length >= EVERY_CHARACTERS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), EVERY_MS);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    this.#send(text);
  }
}
