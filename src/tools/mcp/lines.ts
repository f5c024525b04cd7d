/** Splits the output of a process into lines. */
export class Lines {
  readonly #maxBytes: number;
  /** Pieces of the incomplete last line. */
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** `maxBytes`: maximum size of a line. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds a chunk and returns the completed lines, without line breaks. Throws if a line is too long. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#buffer(chunk.subarray(from, end));
      lines.push(this.rest().replace(/\r$/, ''));
      from = end + 1;
    }
    this.#buffer(chunk.subarray(from));
    return lines;
  }

  /** Returns and clears the incomplete line. */
  rest(): string {
    const text = Buffer.concat(this.#pieces).toString('utf8');
    this.#pieces = [];
    this.#bytes = 0;
    return text;
  }

  #buffer(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) throw new Error(`The server wrote a line longer than ${this.#maxBytes} bytes.`);
  }
}
