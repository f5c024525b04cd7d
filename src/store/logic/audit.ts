import type { AuditEntry, AuditPage, AuditStore, NewAuditEntry } from '../accessStore.ts';
import { int, quote, text, textOr, unquote } from '../sql/row.ts';
import { AUDIT } from '../sql/schema.ts';
import type { Reader, Row, Sql, Transaction, Value } from '../sql/sql.ts';

/** Entries that are kept: some 10 MB. */
export const AUDIT_ENTRIES = 50_000;
/** The oldest ones are removed after each so many. */
const PRUNE_EVERY = 500;

export class SqlAudit implements AuditStore {
  readonly #sql: Sql;
  readonly #most: number;

  constructor(sql: Sql, most = AUDIT_ENTRIES) {
    this.#sql = sql;
    this.#most = most;
  }

  add(entry: NewAuditEntry): Promise<void> {
    return this.#sql.write((tx) => addAudit(tx, entry, this.#most));
  }

  list(page: AuditPage): Promise<AuditEntry[]> {
    return this.#sql.read((db) => list(db, page));
  }
}

/** Adds an entry in the transaction of what it records. */
export async function addAudit(tx: Transaction, entry: NewAuditEntry, most = AUDIT_ENTRIES): Promise<void> {
  const { user, what, batch, result, detail } = entry;
  const quoted = (value: string | undefined): string | null => (value === undefined ? null : quote(value));
  await tx.insert(
    AUDIT,
    ['at', 'who', 'what', 'batch', 'result', 'detail'],
    [[tx.now, quoted(user), quote(what), quoted(batch), quote(result), quoted(detail)]],
  );
  const newest = await tx.get('SELECT id FROM audit ORDER BY id DESC LIMIT 1');
  const id = newest === undefined ? 0 : int(newest, 'id');
  if (id % Math.min(PRUNE_EVERY, most) === 0) await tx.run('DELETE FROM audit WHERE id <= ?', id - most);
}

async function list(db: Reader, { user, batch, since, before, limit }: AuditPage): Promise<AuditEntry[]> {
  const conditions: [string, Value][] = [];
  if (user !== undefined) conditions.push(['who = ?', quote(user)]);
  if (batch !== undefined) conditions.push(['batch = ?', quote(batch)]);
  if (since !== undefined) conditions.push(['at >= ?', since]);
  if (before !== undefined) conditions.push(['id < ?', before]);
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.map(([condition]) => condition).join(' AND ')}`;
  const rows = await db.all(
    `SELECT id, at, who, what, batch, result, detail FROM audit${where} ORDER BY id DESC LIMIT ?`,
    ...conditions.map(([, value]) => value),
    limit,
  );
  return rows.map(readEntry);
}

function readEntry(row: Row): AuditEntry {
  const optional = <K extends string>(name: K, column: string): { [P in K]?: string } => {
    const value = textOr(row, column, null);
    return (value === null ? {} : { [name]: unquote(value) }) as { [P in K]?: string }; // the computed key is `name`
  };
  return {
    id: int(row, 'id'),
    at: int(row, 'at'),
    ...optional('user', 'who'),
    what: unquote(text(row, 'what')),
    ...optional('batch', 'batch'),
    result: unquote(text(row, 'result')),
    ...optional('detail', 'detail'),
  };
}
