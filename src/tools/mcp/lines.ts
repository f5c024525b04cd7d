/** The lines that a process writes, as they become whole. */
export class Lines {
  readonly #most: number;
  /** Of the line that is not whole yet. */
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** `most`: bytes that a line may have. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The lines that are whole now, without their ends. Throws when one is longer than it may be. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, end));
      lines.push(this.rest().replace(/\r$/, ''));
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  /** The line that has no end yet, which is forgotten. */
  rest(): string {
    const text = Buffer.concat(this.#pieces).toString('utf8');
    this.#pieces = [];
    this.#bytes = 0;
    return text;
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes > this.#most) throw new Error(`It wrote a line of more than ${this.#most} bytes.`);
  }
}
