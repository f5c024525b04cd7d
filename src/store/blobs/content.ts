import { createHash } from 'node:crypto';
import { StudioError } from '../../common/errors.ts';
import type { BlobStore } from '../store.ts';

export type Content = Uint8Array | AsyncIterable<Uint8Array>;

/** A blob store with garbage collection. */
export interface CollectableBlobs extends BlobStore {
  /** Blobs that are not in the database. */
  readonly outside?: {
    files(): AsyncIterable<{ readonly sha: string; readonly size: number }>;
    get(sha: string): Promise<{ size: number; bytes: AsyncIterable<Uint8Array> } | undefined>;
  };
  /**
   * Finds unreferenced blobs that were last written or queried before `before` (ms since the epoch); `without`: batches
   * to ignore, except for the blobs of `needed`. Removes them unless `dryRun`. Returns their number and size.
   */
  sweep(what: {
    before: number;
    without: readonly number[];
    needed?: ReadonlySet<string>;
    dryRun: boolean;
  }): Promise<{ blobs: number; bytes: number }>;
}

/** Age at which the time of a blob's last use is refreshed: less than the shortest sensible grace. */
export const STALE_MS = 10 * 60 * 1000;
/** Leftovers of failed uploads are removed after this time. */
export const UPLOAD_MS = 24 * 60 * 60 * 1000;

const SHA = /^[0-9a-f]{64}$/;

export function isSha(text: string): boolean {
  return SHA.test(text);
}

export function checkSha(sha: string): void {
  if (!isSha(sha))
    throw new StudioError('usage', `${JSON.stringify(sha.slice(0, 80))} is not a valid blob name.`, {
      hint: 'Use the SHA-256 hash of its content: 64 lower-case hex digits.',
    });
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function checkContent(sha: string, actual: string): void {
  if (actual !== sha)
    throw new StudioError(
      'usage',
      `The content sent for blob ${sha} has the hash ${actual}: it was damaged in transit, or it is another blob.`,
      { hint: 'Send it again.' },
    );
}

/** Reads up to `limit` bytes; for longer content, returns the bytes read so far and the rest. */
export async function peek(
  content: Content,
  limit: number,
): Promise<{ whole: Uint8Array } | { rest: AsyncIterable<Uint8Array> }> {
  if (content instanceof Uint8Array) return content.byteLength <= limit ? { whole: content } : { rest: once(content) };
  const iterator = content[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let size = 0;
  while (size <= limit) {
    const next = await iterator.next();
    if (next.done === true)
      return { whole: read.length === 1 && read[0] !== undefined ? read[0] : Buffer.concat(read) };
    read.push(next.value);
    size += next.value.byteLength;
  }
  return { rest: readRest(read, iterator) };
}

// oxlint-disable-next-line typescript/require-await
async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

async function* readRest(
  read: readonly Uint8Array[],
  iterator: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* read;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}
