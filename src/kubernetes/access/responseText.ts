/** Reads the text of responses as it arrives, in whole characters or whole lines. */
import type { Readable } from 'node:stream';

/** Yields the pieces of a UTF-8 stream, never with half a character. */
export async function* readText(body: Readable): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  for await (const chunk of body as AsyncIterable<Buffer>) yield decoder.decode(chunk, { stream: true });
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}

/** Yields the lines of a UTF-8 stream, without an unfinished last one. */
export async function* readLines(body: Readable): AsyncGenerator<string, void, undefined> {
  let unfinished = '';
  for await (const piece of readText(body)) {
    const lines = (unfinished + piece).split('\n');
    unfinished = lines.pop() ?? '';
    yield* lines;
  }
}
