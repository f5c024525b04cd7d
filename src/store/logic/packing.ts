import { setTimeout as delay } from 'node:timers/promises';
import { packBlobs } from '../blobs/blobPacks.ts';
import { int } from '../sql/row.ts';
import { EVENT } from '../sql/schema.ts';
import type { Sql } from '../sql/sql.ts';
import { tokenRefsOf } from './blobRefs.ts';
import { pack, textOf } from './events.ts';

/** Rollouts per round. */
const ROUND = 32;
/** Characters per compressed run, which readers unpack as a whole. */
const PACKED_TEXT = 128 * 1024;
/** Streams wait at most so long while rollouts end again and again: what runs has priority. */
const LATEST_MS = 60_000;
/** Freed space is returned after no rollout has ended for this long. */
const IDLE_MS = 5000;
/** Pauses for this multiple of its working time, so that requests have priority, unless a caller is waiting. */
const REST = 3;
/** Characters replaced per transaction. */
const AT_ONCE = 1024 * 1024;
/** Rows per query; each contains at most 64 KB or one event. */
const PAGE = 64;

interface PackedEvents {
  readonly seq: number;
  readonly last: number;
  readonly bytes: Uint8Array;
}

/**
 * Compresses the streams of ended rollouts and the tokens of their calls some time after their end, to a tenth of the
 * space, at no cost for running ones. Readers see no difference. It can be interrupted at any time, and several servers
 * may do it concurrently: each step replaces runs by the same events in one transaction.
 */
export class Packer {
  readonly #sql: Sql;
  readonly #delayMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** When the first of the rollouts ended that wait. */
  #since = 0;
  #idle: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  /** Number of callers waiting for all streams to be packed. */
  #awaited = 0;
  #resting = new AbortController();
  #closed = false;

  constructor(sql: Sql, delayMs: number) {
    this.#sql = sql;
    this.#delayMs = delayMs;
  }

  /** Schedules packing after a rollout ended: when none has for a while. */
  schedule(): void {
    if (this.#closed) return;
    clearTimeout(this.#idle);
    const now = performance.now();
    if (this.#timer === undefined) this.#since = now;
    else if (now + this.#delayMs > this.#since + LATEST_MS) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // A failure loses nothing: it is retried the next time.
      void this.#begin().then(
        () => this.#scheduleShrink(),
        () => undefined,
      );
    }, this.#delayMs);
    this.#timer.unref();
  }

  /** Schedules shrinking. A busy store reuses freed pages first, so it need not return them. */
  #scheduleShrink(): void {
    if (this.#closed || this.#timer !== undefined) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#sql.shrink().catch(() => undefined), IDLE_MS);
    this.#idle.unref();
  }

  /** Packs all ended rollouts, without pauses. */
  async run(): Promise<void> {
    this.#awaited += 1;
    this.#resting.abort();
    try {
      await this.#begin();
    } finally {
      this.#awaited -= 1;
    }
  }

  async #begin(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
    this.#working = this.#packAll().finally(() => {
      this.#working = undefined;
    });
    await this.#working;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#resting.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#idle);
    await this.#working?.catch(() => undefined);
  }

  async #packAll(): Promise<void> {
    while (!this.#closed) {
      const rows = await this.#sql.read((db) =>
        db.all('SELECT id FROM rollout WHERE state = 3 AND packed = 0 ORDER BY id LIMIT ?', ROUND),
      );
      if (rows.length === 0) return;
      await this.#packStreams(rows.map((row) => int(row, 'id')));
    }
  }

  async #rest(workMs: number): Promise<void> {
    if (this.#closed || this.#awaited > 0) return;
    this.#resting = new AbortController();
    await delay(workMs * REST, undefined, { signal: this.#resting.signal, ref: false }).catch(() => undefined);
  }

  /** Packs streams: small ones share a transaction; a large one uses several. */
  async #packStreams(streams: readonly number[]): Promise<void> {
    let done: number[] = [];
    let replaced: Replacement[] = [];
    let tokens: string[] = [];
    let size = 0;
    let began = performance.now();
    const write = async (): Promise<void> => {
      // First, because nobody looks for the tokens of packed events.
      await packBlobs(this.#sql, tokens);
      tokens = [];
      await replace(this.#sql, replaced, done);
      done = [];
      replaced = [];
      size = 0;
      await this.#rest(performance.now() - began);
      began = performance.now();
    };
    for (const stream of streams) {
      for (let after = 0; !this.#closed; ) {
        const part = await readPart(this.#sql, stream, after);
        if (part === undefined) {
          done.push(stream);
          break;
        }
        replaced.push({
          stream,
          from: part.from,
          to: part.to,
          rows: part.rows,
          runs: packLines(part.from, part.lines),
        });
        for (const line of part.lines) tokens.push(...tokenRefsOf(line));
        size += part.size;
        after = part.to;
        if (size >= AT_ONCE) await write();
      }
    }
    await write();
  }
}

interface Replacement {
  readonly stream: number;
  readonly from: number;
  readonly to: number;
  /** Current number of rows with these events. */
  readonly rows: number;
  readonly runs: readonly PackedEvents[];
}

/** Reads the next unpacked events of a stream after `after`, about `AT_ONCE` characters. */
async function readPart(
  sql: Sql,
  stream: number,
  after: number,
): Promise<{ from: number; to: number; rows: number; lines: string[]; size: number } | undefined> {
  const part = { from: 0, to: after, rows: 0, lines: [] as string[], size: 0 };
  for (;;) {
    const rows = await sql.read((db) =>
      db.all(
        'SELECT seq, last, body, packed FROM event WHERE stream = ? AND seq > ? AND packed IS NULL ORDER BY seq ' +
          'LIMIT ?',
        stream,
        part.to,
        PAGE,
      ),
    );
    for (const row of rows) {
      const seq = int(row, 'seq');
      if (part.rows > 0 && seq !== part.to + 1) return part; // there are packed rows in between
      const body = textOf(row);
      if (part.rows === 0) part.from = seq;
      for (const line of body.split('\n')) part.lines.push(line);
      part.rows += 1;
      part.size += body.length;
      part.to = int(row, 'last');
      if (part.size >= AT_ONCE) return part;
    }
    if (rows.length < PAGE) return part.rows === 0 ? undefined : part;
  }
}

function packLines(from: number, lines: readonly string[]): PackedEvents[] {
  const packed: PackedEvents[] = [];
  let start = 0;
  let size = 0;
  for (let i = 0; i < lines.length; i++) {
    size += lines[i]?.length ?? 0;
    if (size < PACKED_TEXT && i < lines.length - 1) continue;
    packed.push({ seq: from + start, last: from + i, bytes: pack(lines.slice(start, i + 1).join('\n')) });
    start = i + 1;
    size = 0;
  }
  return packed;
}

/** Replaces runs with packed ones, unless another server was faster. */
async function replace(sql: Sql, replacements: readonly Replacement[], done: readonly number[]): Promise<void> {
  const streams = [...new Set([...replacements.map(({ stream }) => stream), ...done])];
  if (streams.length === 0) return;
  await sql.write(async (tx) => {
    const rows = await tx.all(
      `SELECT id FROM rollout WHERE ${tx.dialect.anyInt('id')} AND packed = 0 ORDER BY id${tx.dialect.skipLocked}`,
      streams,
    );
    const locked = new Set(rows.map((row) => int(row, 'id')));
    for (const { stream, from, to, rows: expected, runs } of replacements) {
      if (!locked.has(stream)) continue;
      const row = await tx.get(
        'SELECT count(*) AS n FROM event WHERE stream = ? AND seq >= ? AND seq <= ? AND packed IS NULL',
        stream,
        from,
        to,
      );
      if (row === undefined || int(row, 'n') !== expected) continue;
      await tx.run('DELETE FROM event WHERE stream = ? AND seq >= ? AND seq <= ?', stream, from, to);
      await tx.insert(
        EVENT,
        ['stream', 'seq', 'last', 'packed'],
        runs.map((run) => [stream, run.seq, run.last, run.bytes]),
      );
    }
    const finished = done.filter((id) => locked.has(id));
    if (finished.length > 0) await tx.run(`UPDATE rollout SET packed = 1 WHERE ${tx.dialect.anyInt('id')}`, finished);
  });
}
