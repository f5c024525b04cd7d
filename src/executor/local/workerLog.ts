/** Reads the lines of one worker in the log that all workers of this machine write to. */
import { type FileHandle, open } from 'node:fs/promises';
import { sleep } from '../../common/abort.ts';
import type { PodLogOptions } from '../../protocol/pods.ts';

const PIECE_BYTES = 256 * 1024;
const POLL_MS = 300;

interface Source {
  readonly file: string;
  readonly worker: string;
  /** Whether the worker still writes. */
  readonly isRunning: () => boolean;
}

/** Yields whole lines; nothing if there is no file yet. */
export async function* workerLog(
  { file, worker, isRunning }: Source,
  { tail, follow = false }: PodLogOptions,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (handle === undefined) return;
  try {
    const lines = new Lines(handle, worker);
    let kept = await lines.next();
    if (tail !== undefined) kept = tail === 0 ? [] : kept.slice(-tail);
    if (kept.length > 0) yield kept.join('');
    while (follow && !signal.aborted) {
      // Before the last read, so that its last words are not missed.
      const wasRunning = isRunning();
      const added = await lines.next();
      if (added.length > 0) yield added.join('');
      if (!wasRunning) return;
      await sleep(POLL_MS, signal).catch(() => undefined);
    }
  } finally {
    await handle.close();
  }
}

class Lines {
  readonly #handle: FileHandle;
  readonly #worker: string;
  #at = 0;
  #unfinished = '';
  readonly #decoder = new TextDecoder();

  constructor(handle: FileHandle, worker: string) {
    this.#handle = handle;
    this.#worker = worker;
  }

  /** Returns the worker's lines that were added since the last call. */
  async next(): Promise<string[]> {
    const own: string[] = [];
    const buffer = Buffer.alloc(PIECE_BYTES);
    // A file that became too long was cut.
    if ((await this.#handle.stat()).size < this.#at) [this.#at, this.#unfinished] = [0, ''];
    for (;;) {
      const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, this.#at);
      if (bytesRead === 0) return own;
      this.#at += bytesRead;
      const lines = (this.#unfinished + this.#decoder.decode(buffer.subarray(0, bytesRead), { stream: true })).split(
        '\n',
      );
      this.#unfinished = lines.pop() ?? '';
      // As workers write them: when, who, what.
      for (const line of lines) if (line.split(' ', 2)[1] === `${this.#worker}:`) own.push(`${line}\n`);
    }
  }
}
