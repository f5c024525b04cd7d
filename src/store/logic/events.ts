import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type EventData, type EventKind, TRACE_VERSION, type TraceEvent } from '../../trace/schema.ts';
import { bytesOr, int, textOr } from '../sql/row.ts';
import { EVENT } from '../sql/schema.ts';
import type { Reader, Row, Transaction } from '../sql/sql.ts';
import type { Batch } from './batchState.ts';
import { addBlobRefs, blobRefsOf } from './blobRefs.ts';

/** Longer runs are split, because readers read a run as a whole. */
const RUN_TEXT = 64 * 1024;

/** Events `seq`..`last` of a stream in one row: their JSON texts, one per line (JSON text contains no line breaks). */
export interface EventRun {
  readonly stream: number;
  readonly seq: number;
  readonly last: number;
  readonly body: string;
}

/** Returns the stream of a batch's own events; that of a rollout is the rollout's ID. */
export function batchStream(batch: number): number {
  return -batch;
}

/** Groups events of a stream into runs to store; calls `names` with the blobs they reference. */
export function runsOf(
  stream: number,
  events: readonly TraceEvent[],
  names: (shas: readonly string[]) => void,
): EventRun[] {
  const runs: EventRun[] = [];
  let lines: string[] = [];
  let seq = events[0]?.seq ?? 0;
  let size = 0;
  for (const event of events) {
    const line = JSON.stringify(event);
    const shas = blobRefsOf(event.kind, line);
    if (shas.length > 0) names(shas);
    lines.push(line);
    size += line.length;
    if (size < RUN_TEXT && event !== events.at(-1)) continue;
    runs.push({ stream, seq, last: event.seq, body: lines.join('\n') });
    lines = [];
    seq = event.seq + 1;
    size = 0;
  }
  return runs;
}

const COLUMNS = ['stream', 'seq', 'last', 'body'] as const;

export async function insertRuns(tx: Transaction, runs: readonly EventRun[]): Promise<void> {
  if (runs.length > 0)
    await tx.insert(
      EVENT,
      COLUMNS,
      runs.map((run) => [run.stream, run.seq, run.last, run.body]),
    );
}

/** Adds an event to a locked batch's own stream. Returns its seq. */
export async function addBatchEvent<K extends EventKind>(
  tx: Transaction,
  batch: Batch,
  kind: K,
  data: EventData[K],
): Promise<number> {
  batch.last += 1;
  batch.lastAt = Math.max(batch.lastAt, tx.now);
  const body = JSON.stringify({ seq: batch.last, v: TRACE_VERSION, at: batch.lastAt, kind, data });
  await insertRuns(tx, [{ stream: batchStream(batch.id), seq: batch.last, last: batch.last, body }]);
  await addBlobRefs(tx, batch.id, blobRefsOf(kind, body));
  return batch.last;
}

/** Rows per query: few at first, because most readers want a small part of a stream. */
const FIRST_PAGE = 8;
const PAGE = 64;

// One statement finds the run with the first event and reads on, because runs may be merged at any time.
const READ = `SELECT seq, last, body, packed FROM event
  WHERE stream = ? AND seq >= coalesce((SELECT max(e.seq) FROM event e WHERE e.stream = ? AND e.seq <= ?), 0)
  ORDER BY seq LIMIT ?`;

/** Reads events with seq > `after`, up to `maxBytes` characters in total, but at least one if there is one. */
export async function readEvents(
  db: Reader,
  stream: number,
  after: number,
  maxBytes: number,
): Promise<{ seq: number; body: string }[]> {
  const events: { seq: number; body: string }[] = [];
  let size = 0;
  let position = after;
  for (let limit = FIRST_PAGE; ; limit = PAGE) {
    const rows = await db.all(READ, stream, stream, position + 1, limit);
    for (const row of rows) {
      if (int(row, 'last') <= position) continue;
      let seq = int(row, 'seq');
      for (const body of textOf(row).split('\n')) {
        if (seq > position) {
          if (size >= maxBytes) return events;
          events.push({ seq, body });
          size += body.length;
          position = seq;
        }
        seq += 1;
      }
    }
    if (rows.length < limit || size >= maxBytes) return events;
  }
}

/** Returns the lines of a run as one text. `row` has `body` and `packed`. */
export function textOf(row: Row): string {
  const packed = bytesOr(row, 'packed', undefined);
  return packed === undefined ? textOr(row, 'body', '') : unpack(packed);
}

/**
 * Compresses with level 1: a tenth of the size for a tenth of a millisecond per 100 kB. Another thread would cost
 * several times as much.
 */
export function pack(text: string): Uint8Array {
  return zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
}

function unpack(packed: Uint8Array): string {
  return zstdDecompressSync(packed).toString('utf8');
}
