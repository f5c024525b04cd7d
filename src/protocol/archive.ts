/**
 * The format of backups, and of copies of batches: frames of a line of JSON and a payload of `size` bytes. Its rows are
 * those of the tables of a store, which are the same in both databases.
 *
 * A backup is a file: `ARCHIVE_MAGIC`, a frame `archive`, rows of all tables, a frame `end`. A copy is sent in pages:
 * a frame `copy`, rows and blobs of a batch, a frame `page`.
 */
import { z } from 'zod';
import { StudioError } from '../common/errors.ts';

/** The first bytes of a file. The number changes with the frames. */
export const ARCHIVE_MAGIC = 'rollout-studio-archive 1\n';
/** Bytes of a frame's line, and of its payload before compression. */
const MAX_HEADER = 1024 * 1024;
export const MAX_PAYLOAD = 256 * 1024 * 1024;

const count = z.number().int().min(0);
const sha = z.string().regex(/^[0-9a-f]{64}$/);
const NEWLINE = 10;

/** Payloads are compressed with Zstandard. `json`: bytes of the JSON at the begin; then come the binary values. */
const rowsFrame = z.object({
  kind: z.literal('rows'),
  table: z.string(),
  columns: z.array(z.string()),
  rows: count,
  json: count,
  raw: count.max(MAX_PAYLOAD),
  size: count,
  /** For events of a copy: the rollouts of the streams, by ID in the source. */
  streams: z.array(z.tuple([z.number().int(), z.string()])).optional(),
});
/** Contents of small blobs, one after another. */
const blobsFrame = z.object({
  kind: z.literal('blobs'),
  blobs: z.array(z.tuple([sha, count])),
  raw: count.max(MAX_PAYLOAD),
  size: count,
});

export const archiveFrame = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('archive'),
    store_version: count,
    product: z.string(),
    created_at: z.number().int(),
    batches: count,
    rollouts: count,
    size: z.literal(0),
  }),
  rowsFrame,
  blobsFrame,
  /** The end of a backup. `sha256`: of all bytes before this frame. */
  z.object({
    kind: z.literal('end'),
    frames: count,
    rows: z.record(z.string(), count),
    sha256: sha,
    size: z.literal(0),
  }),
  /** The begin of a page of a copy. `revision` differs after a change of the batch. */
  z.object({
    kind: z.literal('copy'),
    store_version: count,
    batch: z.string(),
    revision: z.string(),
    /** Batches whose events it reads. */
    parents: z.array(z.string()),
    size: z.literal(0),
  }),
  /**
   * The end of a page. `large`: blobs that are not in it, to be sent before. `missing`: blobs that the source does not
   * have. `next`: where the next page begins; absent at the end.
   */
  z.object({
    kind: z.literal('page'),
    large: z.array(z.tuple([sha, count])),
    missing: z.array(sha),
    next: z.string().optional(),
    size: z.literal(0),
  }),
]);
export type ArchiveHeader = z.infer<typeof archiveFrame>;
export type RowsHeader = z.infer<typeof rowsFrame>;
export type BlobsHeader = z.infer<typeof blobsFrame>;
export type BackupStart = Extract<ArchiveHeader, { kind: 'archive' }>;
export type BackupEnd = Extract<ArchiveHeader, { kind: 'end' }>;

export interface ArchiveFrame {
  readonly header: ArchiveHeader;
  readonly payload: Uint8Array;
  /** The frame as it is in the file. */
  readonly bytes: Uint8Array;
}

/** Returns the bytes of a frame. */
export function frameBytes(header: ArchiveHeader, payload: Uint8Array = new Uint8Array()): Uint8Array {
  const line = new TextEncoder().encode(`${JSON.stringify(header)}\n`);
  const bytes = new Uint8Array(line.byteLength + payload.byteLength);
  bytes.set(line);
  bytes.set(payload, line.byteLength);
  return bytes;
}

/** Splits bytes into frames. */
export class FrameReader {
  #pending: Uint8Array = new Uint8Array();
  #chunks: Uint8Array[] = [];
  #buffered = 0;
  /** Bytes that are needed before there can be another frame. */
  #needed = 1;

  /** Adds bytes. Returns the frames that are complete. Throws `usage` for what is not an archive. */
  add(bytes: Uint8Array): ArchiveFrame[] {
    this.#chunks.push(bytes);
    this.#buffered += bytes.byteLength;
    if (this.#buffered < this.#needed) return [];
    this.#pending = joined(this.#chunks, this.#buffered);
    const frames: ArchiveFrame[] = [];
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) frames.push(frame);
    this.#chunks = this.#pending.byteLength === 0 ? [] : [this.#pending];
    this.#buffered = this.#pending.byteLength;
    return frames;
  }

  /** Throws `usage` if bytes of an incomplete frame are left. */
  end(): void {
    if (this.#buffered > 0) throw truncated();
  }

  #next(): ArchiveFrame | undefined {
    const pending = this.#pending;
    const newline = pending.indexOf(NEWLINE);
    if (newline < 0) {
      if (pending.byteLength > MAX_HEADER) throw damaged('a frame has no begin');
      this.#needed = pending.byteLength + 1;
      return undefined;
    }
    const header = parseHeader(pending.subarray(0, newline));
    const end = newline + 1 + header.size;
    if (pending.byteLength < end) {
      this.#needed = end;
      return undefined;
    }
    this.#pending = pending.subarray(end);
    this.#needed = 1;
    return { header, payload: pending.subarray(newline + 1, end), bytes: pending.subarray(0, end) };
  }
}

/** Returns all frames of a page. */
export function framesOf(bytes: Uint8Array): ArchiveFrame[] {
  const reader = new FrameReader();
  const frames = reader.add(bytes);
  reader.end();
  return frames;
}

function parseHeader(line: Uint8Array): ArchiveHeader {
  let raw: unknown;
  try {
    raw = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line));
  } catch {
    throw damaged('a frame does not begin with JSON');
  }
  const parsed = archiveFrame.safeParse(raw);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw damaged(`a frame is not valid: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
  }
  return parsed.data;
}

/** The error of an archive whose bytes are not what was written. */
export function damaged(why: string): StudioError {
  return new StudioError('usage', `The archive is damaged: ${why}.`, {
    hint: 'Nothing was changed by it. Use another copy of the file.',
  });
}

/** The error of an archive that ends too early. */
export function truncated(): StudioError {
  return new StudioError('usage', 'The archive is incomplete: its end is missing.', {
    hint: 'Nothing was changed by it. Use another copy of the file, or make the backup again.',
  });
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}

/** `POST /v1/restores`: begins a restore, or continues one of the same archive that was interrupted. */
export const beginRestore = z.object({
  sha256: sha,
  store_version: count,
  created_at: z.number().int(),
  /** Of the whole archive. */
  frames: count,
  rows: z.record(z.string(), count),
});
export type BeginRestore = z.infer<typeof beginRestore>;

/** How many frames are restored. */
export const restoreProgress = z.object({ frames: count });
/** `POST /v1/restores/<sha256>/end`. `resume`: batches that were running continue; they are paused otherwise. */
export const endRestore = z.object({ resume: z.boolean() });
export const restoreResult = z.object({
  batches: count,
  rollouts: count,
  /** Batches that had not ended. */
  unfinished: z.array(z.string()),
});
export type RestoreResult = z.infer<typeof restoreResult>;

/** `GET /v1/copies/<batch>`, and the reply to each page: what the destination has of a batch. */
export const copyState = z.object({
  state: z.enum(['absent', 'importing', 'complete']),
  /** While `importing`: where the next page begins. */
  next: z.string().optional(),
  revision: z.string().optional(),
});
export type CopyState = z.infer<typeof copyState>;
