/** Decodes bytes to text chunk by chunk and checks that they are UTF-8. */

/** A file that is not UTF-8; `line` is the line of the first invalid byte. */
export class NotUtf8 extends Error {
  readonly line: number;

  constructor(line: number) {
    super('the file is not UTF-8 text');
    this.name = 'NotUtf8';
    this.line = line;
  }
}

/** Decodes chunks of text, without the byte order mark. Throws NotUtf8. */
export async function* textChunks(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let lines = 1;
  for await (const chunk of bytes) {
    let text: string;
    try {
      text = decoder.decode(chunk, { stream: true });
    } catch {
      const around = new TextDecoder('utf-8').decode(chunk);
      throw new NotUtf8(lines + newlines(around.slice(0, Math.max(0, around.indexOf('\uFFFD')))));
    }
    lines += newlines(text);
    if (text !== '') yield text;
  }
  try {
    decoder.decode();
  } catch {
    throw new NotUtf8(lines);
  }
}

function newlines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

interface Line {
  /** The line without its line break; undefined if it is longer than `limit`. */
  readonly text: string | undefined;
  /** From 1. */
  readonly line: number;
}

/** Reads lines that end with LF or CRLF, keeping one line and one chunk of the file in memory. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Line> {
  let line = 1;
  let held: string[] = [];
  let length = 0;
  const take = (piece: string): void => {
    length += piece.length;
    if (length > limit) held = [];
    else held.push(piece);
  };
  const finish = (): Line => {
    const text = length > limit ? undefined : held.join('');
    held = [];
    length = 0;
    return { text: text?.endsWith('\r') === true ? text.slice(0, -1) : text, line: line++ };
  };
  for await (const chunk of textChunks(bytes)) {
    let start = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', start)) {
      take(chunk.slice(start, end));
      start = end + 1;
      yield finish();
    }
    if (start < chunk.length) take(chunk.slice(start));
  }
  if (length > 0) yield finish();
}
