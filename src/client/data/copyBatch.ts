/** Copies ended batches between servers. */
import { StudioError } from '../../common/errors.ts';
import type { Api } from '../../protocol/api.ts';
import { type ArchiveHeader, framesOf } from '../../protocol/archive.ts';
import { dropCopy, readCopy, sendCopy, stateOfCopy } from '../../protocol/archiveCalls.ts';

const BLOB_CHUNK = 4 * 1024 * 1024;
/** How often a copy begins again because its batch changed. */
const MAX_STARTS = 3;

export interface CopyOptions {
  readonly from: Api;
  readonly to: Api;
  /** Whether the batch still belongs to its owner, which needs the right to administer the destination. */
  readonly keepOwner: boolean;
  readonly signal: AbortSignal;
  /** Called after each page with the bytes that were copied so far. */
  readonly onProgress?: (batch: string, bytes: number) => void;
}

export interface CopiedBatch {
  readonly batch: string;
  readonly bytes: number;
  /** Whether it was there already, began now, or continued a copy that was interrupted. */
  readonly how: 'present' | 'copied' | 'continued';
}

/**
 * Copies a batch, and before it the batches whose events it reads. Does nothing for a batch that is there, and
 * continues an interrupted copy. Throws `conflict` if one has not ended.
 */
export async function copyBatch(batch: string, options: CopyOptions): Promise<CopiedBatch[]> {
  return copyWithParents(batch, options, new Set());
}

async function copyWithParents(batch: string, options: CopyOptions, seen: Set<string>): Promise<CopiedBatch[]> {
  if (seen.has(batch)) return [];
  seen.add(batch);
  const copied: CopiedBatch[] = [];
  for (let starts = 1; ; starts++) {
    try {
      copied.push(
        await copyOne(batch, options, async (parents) => {
          for (const parent of parents) copied.push(...(await copyWithParents(parent, options, seen)));
        }),
      );
      return copied;
    } catch (error) {
      if (!StudioError.is(error, 'conflict') || error.details?.['stale'] !== true || starts >= MAX_STARTS) throw error;
      await dropCopy(options.to, batch, options.signal);
    }
  }
}

async function copyOne(
  batch: string,
  { from, to, keepOwner, signal, onProgress }: CopyOptions,
  copyParents: (parents: readonly string[]) => Promise<void>,
): Promise<CopiedBatch> {
  let state = await stateOfCopy(to, batch, signal);
  if (state.state === 'complete') return { batch, bytes: 0, how: 'present' };
  const how = state.state === 'importing' ? 'continued' : 'copied';
  let bytes = 0;
  while (state.state !== 'complete') {
    const after = state.state === 'importing' ? state.next : undefined;
    const page = await readCopy(from, batch, after, signal);
    const headers = framesOf(page).map(({ header }) => header);
    if (after === undefined) await copyParents(parentsOf(headers));
    bytes += page.byteLength;
    for (const [sha, size] of largeOf(headers)) {
      if (await to.hasBlob(sha, signal)) continue;
      await to.putBlob(sha, () => from.blobChunks(sha, size, BLOB_CHUNK, signal), signal);
      bytes += size;
      onProgress?.(batch, bytes);
    }
    state = await sendCopy(to, { batch, after, keepOwner }, page, signal);
    onProgress?.(batch, bytes);
  }
  return { batch, bytes, how };
}

function parentsOf(headers: readonly ArchiveHeader[]): readonly string[] {
  const [first] = headers;
  return first?.kind === 'copy' ? first.parents : [];
}

function largeOf(headers: readonly ArchiveHeader[]): readonly (readonly [string, number])[] {
  const last = headers.at(-1);
  return last?.kind === 'page' ? last.large : [];
}
