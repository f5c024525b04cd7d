/** Reads the file of a backup. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { StudioError } from '../../common/errors.ts';
import {
  ARCHIVE_MAGIC,
  type ArchiveFrame,
  type BackupEnd,
  type BackupStart,
  damaged,
  FrameReader,
  truncated,
} from '../../protocol/archive.ts';
import { diskError } from '../disk.ts';

const CHUNK = 1024 * 1024;

export interface ArchiveFile {
  readonly file: string;
  readonly bytes: number;
  readonly start: BackupStart;
  readonly end: BackupEnd;
}

/**
 * Reads a whole file and checks that it is what was written: every byte, and the number of rows. Throws `usage` if it
 * is not.
 */
export async function verifyArchive(
  file: string,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress?: (bytes: number, all: number) => void },
): Promise<ArchiveFile> {
  const { size } = await stat(file).catch((error: unknown) => {
    throw diskError(file, error);
  });
  const hash = createHash('sha256').update(ARCHIVE_MAGIC);
  const rows: Record<string, number> = {};
  let start: BackupStart | undefined;
  let end: BackupEnd | undefined;
  let frames = 0;
  let bytes = ARCHIVE_MAGIC.length;
  for await (const { header, bytes: all } of framesOfFile(file, signal)) {
    bytes += all.byteLength;
    onProgress?.(bytes, size);
    if (end !== undefined) throw damaged('something follows its end');
    if (header.kind === 'end') {
      end = header;
      continue;
    }
    if (frames === 0 && header.kind === 'archive') start = header;
    else if (header.kind === 'rows') rows[header.table] = (rows[header.table] ?? 0) + header.rows;
    else throw damaged(`it has a frame of the kind ${header.kind}`);
    frames += 1;
    hash.update(all);
  }
  if (start === undefined || end === undefined) throw truncated();
  if (hash.digest('hex') !== end.sha256) throw damaged('its content was altered');
  if (frames !== end.frames || JSON.stringify(rows) !== JSON.stringify(end.rows)) throw damaged('rows are missing');
  return { file, bytes: size, start, end };
}

/** Yields the frames of a file. Throws `usage` for a file that is not a backup, or that ends too early. */
export async function* framesOfFile(file: string, signal: AbortSignal): AsyncGenerator<ArchiveFrame> {
  const reader = new FrameReader();
  let head: Buffer | undefined = Buffer.alloc(0);
  const stream = createReadStream(file, { highWaterMark: CHUNK, signal });
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let bytes = chunk;
      if (head !== undefined) {
        head = Buffer.concat([head, chunk]);
        if (head.byteLength < ARCHIVE_MAGIC.length) continue;
        checkMagic(head);
        bytes = head.subarray(ARCHIVE_MAGIC.length);
        head = undefined;
      }
      yield* reader.add(bytes);
    }
  } catch (error) {
    throw signal.aborted ? new StudioError('cancelled', 'Canceled.', { cause: error }) : diskError(file, error);
  }
  if (head !== undefined) checkMagic(head);
  reader.end();
}

function checkMagic(head: Buffer): void {
  const text = head.subarray(0, ARCHIVE_MAGIC.length).toString('latin1');
  if (text === ARCHIVE_MAGIC) return;
  const version = /^rollout-studio-archive (\d+)\n/.exec(head.subarray(0, 64).toString('latin1'))?.[1];
  if (version !== undefined)
    throw new StudioError('version', `The backup has format ${version}, which this version cannot read.`, {
      hint: 'Update Rollout Studio.',
    });
  if (ARCHIVE_MAGIC.startsWith(text)) throw truncated();
  throw new StudioError('usage', 'The file is not a backup of Rollout Studio.', {
    hint: 'Make one with “rollout backup FILE”.',
  });
}
