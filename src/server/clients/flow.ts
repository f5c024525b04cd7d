/** Flow control of one subscription: tracks, in order, what was sent and not yet acknowledged. */
export class Flow {
  readonly #sent: { cursor: number; bytes: number }[] = [];
  #unacknowledged = 0;

  /** Bytes (characters) that were sent and not acknowledged. */
  get unacknowledged(): number {
    return this.#unacknowledged;
  }

  sent(cursor: number, bytes: number): void {
    this.#sent.push({ cursor, bytes });
    this.#unacknowledged += bytes;
  }

  /** Acknowledges everything up to `cursor`. */
  acknowledge(cursor: number): void {
    let done = 0;
    for (const item of this.#sent) {
      if (item.cursor > cursor) break;
      this.#unacknowledged -= item.bytes;
      done += 1;
    }
    this.#sent.splice(0, done);
  }
}
