/** Imports a file unless the store already contains the same content. */
import type { Api } from '../protocol/api.ts';
import { type ImportResult, importFile } from './importFile.ts';
import { HashedFile } from './importSource.ts';

interface ImportedOnce {
  readonly batch: string;
  /** undefined if the file had been imported before. */
  readonly imported: ImportResult | undefined;
}

/** Throws the errors of `importFile`. */
export async function importOnce(api: Api, file: string, signal: AbortSignal): Promise<ImportedOnce> {
  const existing = await importedBatch(api, await shaOfFile(file), signal);
  if (existing !== undefined) return { batch: existing, imported: undefined };
  const imported = await importFile(api, file, { signal });
  return { batch: imported.batch, imported };
}

/** Finds the newest complete import of a source. The `submission` of an imported batch is the source's SHA. */
async function importedBatch(api: Api, sha: string, signal: AbortSignal): Promise<string | undefined> {
  let before: string | undefined;
  do {
    const page = await api.batches({ limit: 500, ...(before === undefined ? {} : { before }) }, signal);
    // An interrupted import stays open.
    const match = page.batches.find((row) => row.imported && row.submission === sha && row.state !== 'open');
    if (match !== undefined) return match.batch;
    before = page.next;
  } while (before !== undefined);
  return undefined;
}

async function shaOfFile(file: string): Promise<string> {
  const hashed = new HashedFile(file);
  for await (const _chunk of hashed.bytes()); // only hashes it
  return hashed.sha;
}
