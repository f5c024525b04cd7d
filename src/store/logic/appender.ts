import { errorText, StudioError } from '../../common/errors.ts';
import { int } from '../sql/row.ts';
import type { Sql } from '../sql/sql.ts';
import type { AppendRequest, AppendResult } from '../store.ts';
import { appendAll } from './append.ts';

/** Maximum number of appends per transaction. */
const GROUP = 512;
/**
 * Minimum time between commits while few appends are waiting. An append after a pause is committed immediately, as is
 * the end of a rollout, since a lane waits for it. With many separate ones, each would need its own sync, which is the
 * largest cost.
 */
const SPACING_MS = 10;
/** This many appends, or events, justify a commit at any time. */
const MAX_WAITING_APPENDS = 8;
const MAX_WAITING_EVENTS = 64;

interface PendingAppend {
  readonly request: AppendRequest;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Groups appends into transactions: each one takes all appends that arrived during the previous one. */
export class Appender {
  readonly #sql: Sql;
  readonly #ended: () => void;
  #waiting: PendingAppend[] = [];
  #events = 0;
  #ends = 0;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastCommit = 0;

  /** `ended` is called after a commit in which a rollout ended. */
  constructor(sql: Sql, ended: () => void) {
    this.#sql = sql;
    this.#ended = ended;
  }

  append(request: AppendRequest): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      this.#events += request.events.length;
      if (isEnding(request)) this.#ends += 1;
      this.#next();
    });
  }

  /** Commits pending appends now. */
  async close(): Promise<void> {
    while (this.#waiting.length > 0 || this.#writing !== undefined) {
      if (this.#writing === undefined) this.#start();
      await this.#writing;
    }
  }

  /** Commits now, or schedules a commit. */
  #next(): void {
    if (this.#writing !== undefined || this.#waiting.length === 0) return;
    const isFull = this.#waiting.length >= MAX_WAITING_APPENDS || this.#events >= MAX_WAITING_EVENTS;
    const wait = isFull || this.#ends > 0 ? 0 : this.#lastCommit + SPACING_MS - performance.now();
    if (wait <= 0) this.#start();
    else this.#timer ??= setTimeout(() => this.#start(), wait);
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#write().finally(() => {
      this.#lastCommit = performance.now();
      this.#writing = undefined;
      this.#next();
    });
  }

  async #write(): Promise<void> {
    let group: PendingAppend[] | undefined;
    try {
      const results = await this.#sql.write((tx) => {
        group ??= this.#nextGroup(); // as late as possible, and the same when it runs again
        return appendAll(
          tx,
          group.map(({ request }) => request),
        );
      });
      group?.forEach(({ resolve, reject }, index) => {
        const result = results[index];
        if (result === undefined) reject(new StudioError('internal', 'An append got no result.'));
        else resolve(result);
      });
      if (group?.some(({ request }) => isEnding(request)) === true) this.#ended();
    } catch (error) {
      // Without a group the transaction could not start, so all waiting appends fail.
      for (const waiting of group ?? this.#nextGroup()) await this.#failed(waiting, error);
    }
  }

  #nextGroup(): PendingAppend[] {
    const group = this.#waiting.splice(0, GROUP);
    this.#events = this.#waiting.reduce((sum, { request }) => sum + request.events.length, 0);
    this.#ends = this.#waiting.filter(({ request }) => isEnding(request)).length;
    return group;
  }

  async #failed({ request, resolve, reject }: PendingAppend, error: unknown): Promise<void> {
    if (!StudioError.is(error, 'storage') || error.details?.['full'] !== true) {
      reject(error);
      return;
    }
    try {
      const row = await this.#sql.read((db) => db.get('SELECT last FROM rollout WHERE name = ?', request.rollout));
      resolve({
        ok: false,
        code: 'full',
        durable: row === undefined ? 0 : int(row, 'last'),
        message: errorText(error),
      });
    } catch {
      reject(error);
    }
  }
}

function isEnding({ events }: AppendRequest): boolean {
  return events.at(-1)?.kind === 'rollout.end';
}
