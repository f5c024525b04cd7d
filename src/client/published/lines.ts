/** Finds the lines of files that are too large to hold in memory, and reads single ones. */
import type { FileHandle } from 'node:fs/promises';

/** Bytes read at once. */
const CHUNK = 4 * 1024 * 1024;
const NEWLINE = 0x0a;

/** A line of a file. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** Of its first byte. */
  readonly offset: number;
  /** Without the end of the line. */
  readonly bytes: number;
}

/** What an index looks at: the ends of a line. Both are the whole line if that is short. */
export interface LineEnds {
  readonly start: Buffer;
  readonly end: Buffer;
}

/**
 * Calls `visit` for each line that is not empty. It gets the first and last `edge` bytes of the line, which are only
 * valid during the call.
 */
export async function visitLines(
  handle: FileHandle,
  edge: number,
  visit: (line: Line, ends: LineEnds) => void,
  signal: AbortSignal,
): Promise<void> {
  const chunk = Buffer.allocUnsafe(CHUNK);
  let number = 1;
  let offset = 0; // of the line
  let at = 0; // of the chunk
  let start = Buffer.alloc(0);
  let end = Buffer.alloc(0);
  const add = (part: Buffer): void => {
    if (start.length < edge) start = Buffer.concat([start, part.subarray(0, edge - start.length)]);
    end = part.length >= edge ? Buffer.from(part.subarray(part.length - edge)) : tail(end, part, edge);
  };
  const finish = (next: number, isEnd: boolean): void => {
    const bytes = next - offset - (isEnd ? 0 : 1);
    if (start.some((byte) => byte > 0x20)) visit({ number, offset, bytes }, { start, end });
    number++;
    offset = next;
    start = Buffer.alloc(0);
    end = Buffer.alloc(0);
  };
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, CHUNK, at);
    if (bytesRead === 0) break;
    const read = chunk.subarray(0, bytesRead);
    let from = 0;
    for (let to = read.indexOf(NEWLINE); to !== -1; to = read.indexOf(NEWLINE, from)) {
      add(read.subarray(from, to));
      from = to + 1;
      finish(at + from, false);
    }
    add(read.subarray(from));
    at += bytesRead;
  }
  if (at > offset) finish(at, true);
}

function tail(end: Buffer, part: Buffer, edge: number): Buffer<ArrayBuffer> {
  const whole = Buffer.concat([end, part]);
  return whole.subarray(Math.max(0, whole.length - edge));
}

/** Reads a line. */
export async function readLine(handle: FileHandle, { offset, bytes }: Line): Promise<string> {
  const buffer = Buffer.alloc(bytes);
  let done = 0;
  while (done < bytes) {
    const { bytesRead } = await handle.read(buffer, done, bytes - done, offset + done);
    if (bytesRead === 0) break; // it became shorter
    done += bytesRead;
  }
  return buffer.toString('utf8', 0, done);
}
