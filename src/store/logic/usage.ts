import { int, quote, text, unquote } from '../sql/row.ts';
import type { Reader, Row, Sql, Transaction, Value } from '../sql/sql.ts';
import type { PodTotal, PodUse, TokenUse, UsageOwner, UsageStore } from '../usageStore.ts';

const MINUTE_MS = 60_000;
const KEPT_MS = 25 * 60 * MINUTE_MS;
/** CPUs and GPUs are stored in thousandths. */
const MILLI = 1_000;
const COPIED = 'copied:';
/** Pods of this cluster, whose hours count for users and queues here. */
const OWN_PODS = `uid NOT LIKE '"${COPIED}%'`;

/** Returns the UID under which a copy of a batch has a pod, which ran elsewhere. */
export function copiedUid(batch: string, uid: string): string {
  // Of a copy of a copy.
  const original = uid.startsWith(COPIED) ? uid.slice(uid.indexOf(' ') + 1) : uid;
  return `${COPIED}${batch} ${original}`;
}

export class SqlUsage implements UsageStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  addTokens(uses: readonly TokenUse[]): Promise<void> {
    return uses.length === 0 ? Promise.resolve() : this.#sql.write((tx) => addTokens(tx, uses));
  }

  async tokensSince(at: number): Promise<(UsageOwner & { tokens: number })[]> {
    const rows = await this.#sql.read((db) =>
      db.all(
        'SELECT queue, owner, CAST(SUM(tokens) AS BIGINT) AS tokens FROM token_use WHERE minute >= ? ' +
          'GROUP BY queue, owner ORDER BY queue, owner',
        Math.floor(at / MINUTE_MS),
      ),
    );
    return rows.map((row) => ({ ...ownerOf(row), tokens: int(row, 'tokens') }));
  }

  recordPods(pods: readonly PodUse[]): Promise<void> {
    return pods.length === 0 ? Promise.resolve() : this.#sql.write((tx) => recordPods(tx, pods));
  }

  podTotals(of: { batch?: string; since?: number } = {}): Promise<PodTotal[]> {
    return this.#sql.read((db) => podTotals(db, of));
  }
}

async function addTokens(tx: Transaction, uses: readonly TokenUse[]): Promise<void> {
  for (const { at, queue, user, tokens } of uses)
    await tx.run(
      'INSERT INTO token_use (minute, queue, owner, tokens) VALUES (?, ?, ?, ?) ON CONFLICT (minute, queue, owner) ' +
        'DO UPDATE SET tokens = token_use.tokens + excluded.tokens',
      Math.floor(at / MINUTE_MS),
      quote(queue),
      quote(user),
      tokens,
    );
  await tx.run('DELETE FROM token_use WHERE minute < ?', Math.floor((tx.now - KEPT_MS) / MINUTE_MS));
}

async function recordPods(tx: Transaction, pods: readonly PodUse[]): Promise<void> {
  for (const { uid, batch, queue, user, model, from, until, cpus, gpus } of pods)
    await tx.run(
      `INSERT INTO pod_use (uid, batch, queue, owner, model, from_at, until_at, cpus, gpus)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uid) DO UPDATE SET
        until_at = CASE WHEN excluded.until_at > pod_use.until_at THEN excluded.until_at ELSE pod_use.until_at END`,
      quote(uid),
      quote(batch),
      quote(queue),
      quote(user),
      quote(model),
      from,
      Math.max(from, until),
      Math.round(cpus * MILLI),
      Math.round(gpus * MILLI),
    );
}

async function podTotals(db: Reader, { batch, since }: { batch?: string; since?: number }): Promise<PodTotal[]> {
  const time = '(until_at - CASE WHEN from_at > ? THEN from_at ELSE ? END)';
  const at = since ?? 0;
  const conditions: [string, Value][] = [['until_at > ?', at]];
  if (batch !== undefined) conditions.push(['batch = ?', quote(batch)]);
  const where = [...conditions.map(([condition]) => condition), ...(batch === undefined ? [OWN_PODS] : [])];
  const rows = await db.all(
    `SELECT queue, owner, model, CAST(SUM(cpus * ${time}) AS BIGINT) AS cpu, CAST(SUM(gpus * ${time}) AS BIGINT) AS gpu
      FROM pod_use WHERE ${where.join(' AND ')}
      GROUP BY queue, owner, model ORDER BY queue, owner, model`,
    at,
    at,
    at,
    at,
    ...conditions.map(([, value]) => value),
  );
  return rows.map((row) => ({
    ...ownerOf(row),
    model: unquote(text(row, 'model')),
    // Thousandths × milliseconds.
    cpuSeconds: int(row, 'cpu') / MILLI / 1_000,
    gpuSeconds: int(row, 'gpu') / MILLI / 1_000,
  }));
}

/**
 * Keeps the sums of the pods of a batch that is removed, as if one pod at the beginning of time had used them, so that
 * counters never fall.
 */
export async function foldPods(tx: Transaction, batch: string): Promise<void> {
  const rows = await tx.all(
    `SELECT queue, owner, model, CAST(SUM(cpus * (until_at - from_at)) AS BIGINT) AS cpu,
      CAST(SUM(gpus * (until_at - from_at)) AS BIGINT) AS gpu
      FROM pod_use WHERE batch = ? AND ${OWN_PODS} GROUP BY queue, owner, model`,
    quote(batch),
  );
  for (const row of rows) {
    const [queue, owner, model] = [text(row, 'queue'), text(row, 'owner'), text(row, 'model')];
    await tx.run(
      // One millisecond, so that the sums are exact.
      `INSERT INTO pod_use (uid, batch, queue, owner, model, from_at, until_at, cpus, gpus)
        VALUES (?, ?, ?, ?, ?, 0, 1, ?, ?) ON CONFLICT (uid) DO UPDATE SET
        cpus = pod_use.cpus + excluded.cpus, gpus = pod_use.gpus + excluded.gpus`,
      quote(`removed ${JSON.stringify([queue, owner, model])}`),
      quote(''),
      queue,
      owner,
      model,
      int(row, 'cpu'),
      int(row, 'gpu'),
    );
  }
  await tx.run('DELETE FROM pod_use WHERE batch = ?', quote(batch));
}

function ownerOf(row: Row): UsageOwner {
  return { queue: unquote(text(row, 'queue')), user: unquote(text(row, 'owner')) };
}
