/** Saves a backup in a file, and restores one. */
import { open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import type { Api } from '../../protocol/api.ts';
import type { RestoreResult } from '../../protocol/archive.ts';
import { beginRestore, endRestore, readBackup, sendFrames } from '../../protocol/archiveCalls.ts';
import { diskError } from '../disk.ts';
import { type ArchiveFile, framesOfFile, verifyArchive } from './archiveFile.ts';

/** Ending of the names of backups. */
const ENDING = '.rollouts';
/** Bytes per request of a restore: each is one transaction. */
const PART = 2 * 1024 * 1024;

export interface Progressing {
  readonly signal: AbortSignal;
  readonly onProgress?: (what: 'save' | 'verify' | 'restore', bytes: number, all?: number) => void;
}

/** Returns the file for a backup: a new one in a folder, or the file itself. Throws `conflict` if it exists. */
export async function backupFile(place: string): Promise<string> {
  const found = await stat(place).catch(() => undefined);
  if (found?.isDirectory() === true || /[\\/]$/.test(place))
    return path.join(place, `rollout-studio-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}${ENDING}`);
  if (found !== undefined)
    throw new StudioError('conflict', `${place} exists already.`, { hint: 'Choose another name, or a folder.' });
  return place;
}

/** Saves a backup of a server's store. The file gets its name once it is complete and verified. */
export async function saveBackup(api: Api, file: string, { signal, onProgress }: Progressing): Promise<ArchiveFile> {
  const draft = `${file}.part`;
  const chunks = await readBackup(api, signal);
  try {
    const handle = await open(draft, 'w', 0o600).catch((error: unknown) => {
      throw diskError(draft, error);
    });
    try {
      let bytes = 0;
      for await (const chunk of received(chunks, signal)) {
        await handle.writeFile(chunk).catch((error: unknown) => {
          throw diskError(draft, error);
        });
        bytes += chunk.byteLength;
        onProgress?.('save', bytes);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    const verified = await verifyArchive(draft, {
      signal,
      onProgress: (bytes, all) => onProgress?.('verify', bytes, all),
    });
    await rename(draft, file);
    return { ...verified, file };
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}

async function* received(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (cause) {
    if (signal.aborted) throw new StudioError('cancelled', 'The backup was canceled. No file is left.', { cause });
    throw new StudioError('unavailable', 'The server went away before the backup was complete. No file is left.', {
      hint: 'Run the same command again.',
      cause,
    });
  }
}

/** Restores a backup into the empty store of a server. Throws before anything changes if the file is not intact. */
export async function restoreBackup(
  api: Api,
  file: string,
  { resume, signal, onProgress }: Progressing & { readonly resume: boolean },
): Promise<{ readonly archive: ArchiveFile; readonly result: RestoreResult }> {
  const archive = await verifyArchive(file, { signal, onProgress: (bytes, all) => onProgress?.('verify', bytes, all) });
  const { start, end } = archive;
  const about = {
    sha256: end.sha256,
    store_version: start.store_version,
    created_at: start.created_at,
    frames: end.frames - 1, // without its begin
    rows: end.rows,
  };
  let done = await beginRestore(api, about, signal);
  let index = 0;
  let bytes = 0;
  let part: Uint8Array[] = [];
  let size = 0;
  const send = async (): Promise<void> => {
    if (part.length === 0) return;
    done = await sendFrames(api, { sha256: end.sha256, from: done, bytes: Buffer.concat(part) }, signal);
    part = [];
    size = 0;
    onProgress?.('restore', bytes, archive.bytes);
  };
  for await (const { header, bytes: frame } of framesOfFile(file, signal)) {
    bytes += frame.byteLength;
    if (header.kind !== 'rows') continue;
    index += 1;
    if (index <= done) continue; // restored before an interruption
    part.push(frame);
    size += frame.byteLength;
    if (size >= PART) await send();
  }
  await send();
  return { archive, result: await endRestore(api, end.sha256, resume, signal) };
}
