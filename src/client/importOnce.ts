/** Imports a file unless the very same content is in the store already. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { errorText, StudioError } from '../common/errors.ts';
import type { Api } from '../protocol/api.ts';
import { type ImportResult, importFile } from './importFile.ts';

export interface ImportedOnce {
  readonly batch: string;
  /** Undefined: it was there. */
  readonly imported: ImportResult | undefined;
}

/** Throws as `importFile` does. */
export async function importOnce(api: Api, file: string, signal: AbortSignal): Promise<ImportedOnce> {
  const there = await importedBatch(api, await shaOfFile(file), signal);
  if (there !== undefined) return { batch: there, imported: undefined };
  const imported = await importFile(api, file, { signal });
  return { batch: imported.batch, imported };
}

/** The newest whole import of a source; its sha stands where other batches have their submission's. */
async function importedBatch(api: Api, sha: string, signal: AbortSignal): Promise<string | undefined> {
  let before: string | undefined;
  do {
    const page = await api.batches({ limit: 500, ...(before === undefined ? {} : { before }) }, signal);
    // One that was interrupted stays open.
    const found = page.batches.find((row) => row.imported && row.submission === sha && row.state !== 'open');
    if (found !== undefined) return found.batch;
    before = page.next;
  } while (before !== undefined);
  return undefined;
}

async function shaOfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  } catch (cause) {
    throw new StudioError('not_found', `${file} cannot be read: ${errorText(cause)}.`, { cause });
  }
  return hash.digest('hex');
}
