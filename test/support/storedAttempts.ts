/** Reads attempts from the tables of a store, without the product's code: another route to the figures of reports. */
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { zstdDecompressSync } from 'node:zlib';

interface StoredPart {
  readonly type: string;
  readonly name?: string;
  readonly arguments?: unknown;
  readonly content?: string;
  readonly response?: unknown;
}

export interface StoredEvent {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly span?: number;
  readonly data: {
    readonly m?: number;
    readonly role?: string;
    readonly origin?: string;
    readonly parts?: readonly StoredPart[];
    readonly side?: string;
    readonly name?: string;
    readonly arguments?: Readonly<Record<string, unknown>>;
    readonly status?: string;
    readonly source?: string;
    readonly injected?: string;
    readonly made?: boolean;
    readonly result?: unknown;
    readonly real?: unknown;
    readonly error?: { readonly class: string };
    readonly changes?: readonly unknown[];
    readonly usage?: { readonly input_tokens: number; readonly output_tokens: number; readonly cached_tokens?: number };
    readonly passed?: boolean | null;
    readonly reward?: number | null;
    readonly totals?: { readonly ms: number };
  };
}

export interface StoredAttempt {
  /** Task and number. */
  readonly key: string;
  readonly task: string;
  readonly attempt: number;
  readonly passed: boolean;
  readonly events: readonly StoredEvent[];
}

/** Returns the attempts of a batch with the streams that count. */
export function storedAttempts(store: string, batch: string): StoredAttempt[] {
  using db = new DatabaseSync(path.join(store, 'store.db'), { readOnly: true });
  const rollouts = db
    .prepare(
      'SELECT r.id, r.attempt, t.name AS task FROM rollout r JOIN batch b ON b.id = r.batch ' +
        'JOIN task t ON t.batch = r.batch AND t.idx = r.task WHERE b.name = ? AND r.settles = 1',
    )
    .all(batch);
  return rollouts.map((row): StoredAttempt => {
    const runs = db.prepare('SELECT body, packed FROM event WHERE stream = ? ORDER BY seq').all(row['id'] as number);
    const events = runs
      .map(({ body, packed }) => (packed === null ? String(body) : zstdDecompressSync(packed as Uint8Array).toString()))
      .flatMap((text) => text.split('\n'))
      .map((line) => JSON.parse(line) as StoredEvent);
    const end = events.findLast(({ kind }) => kind === 'rollout.end');
    const task = String(JSON.parse(String(row['task'])));
    const attempt = Number(row['attempt']);
    return { key: `${task}/${attempt}`, task, attempt, passed: end?.data.passed === true, events };
  });
}
