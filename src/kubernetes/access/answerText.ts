/** The text of answers as it comes: whole characters, and whole lines of them. */
import type { Readable } from 'node:stream';

/** The pieces of a UTF-8 stream, never with half a character. */
export async function* readText(body: Readable): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  for await (const chunk of body as AsyncIterable<Buffer>) yield decoder.decode(chunk, { stream: true });
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}

/** The lines of a UTF-8 stream; what follows the last line break is none. */
export async function* readLines(body: Readable): AsyncGenerator<string, void, undefined> {
  let open = '';
  for await (const piece of readText(body)) {
    const lines = (open + piece).split('\n');
    open = lines.pop() ?? '';
    yield* lines;
  }
}
