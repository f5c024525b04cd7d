/**
 * Builds the template of a scenario: the SQLite database with which its sessions begin. Two builds are equal byte for
 * byte, because time and randomness are fixed.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';
import { z } from 'zod';
import { errorText } from '../../../common/errors.ts';

/** Creates tables first, then their rows. */
const phase = z.enum(['schema', 'rows']);
const statement = z.object({ phase, table: z.string(), sql: z.string() });
export type TemplateStatement = z.infer<typeof statement>;

export const templateRequest = z.object({
  /** Where to write the database; nothing is there yet. */
  file: z.string(),
  /** ISO 8601: what `datetime('now')` and the like answer. */
  now: z.string(),
  statements: z.array(statement),
});
export type TemplateRequest = z.infer<typeof templateRequest>;

export const templateResult = z.object({
  tables: z.number(),
  /** Statements that failed; the database is built without them. */
  errors: z.array(z.object({ phase, table: z.string(), sql: z.string(), message: z.string() })),
});
export type TemplateResult = z.infer<typeof templateResult>;

/** Pages of a database: 256 MB. */
const MAX_PAGES = 65_536;
const PAGE_BYTES = 4096;
/** The header's version of SQLite, and the number of changes for which it holds. */
const VERSION = { from: 92, to: 100 } as const;
/** Statements of other kinds could read and write other files. */
const KINDS: Readonly<Record<TemplateStatement['phase'], RegExp>> = {
  schema: /^(?:create|alter|drop)\b/i,
  rows: /^(?:insert|replace|update|delete|with)\b/i,
};
/** White space, comments, and semicolons at the start of a text. */
export const BLANK = /^(?:\s+|;|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))*/;
/** Functions of time, with the position of the time among their arguments. */
const TIME_FUNCTIONS: Readonly<Record<string, number>> = {
  date: 0,
  time: 0,
  datetime: 0,
  julianday: 0,
  unixepoch: 0,
  strftime: 1,
};

/** `open` opens a database file, or a temporary one. */
export function buildTemplate(
  { file, now, statements }: TemplateRequest,
  open: (file: string) => DatabaseSync,
): TemplateResult {
  const plain = open(':memory:');
  const database = open(file);
  const errors: TemplateResult['errors'] = [];
  try {
    fixTime(database, plain, now);
    fixRandomness(database);
    database.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF`);
    database.exec(`PRAGMA max_page_count = ${MAX_PAGES}`);
    for (const each of ['schema', 'rows'] as const) {
      database.exec(`PRAGMA foreign_keys = ${each === 'rows' ? 'ON' : 'OFF'}`);
      for (const { sql, ...at } of statements.filter((candidate) => candidate.phase === each)) {
        const message = run(database, sql, each);
        if (message !== undefined) errors.push({ ...at, sql, message });
      }
    }
    const { tables } = database
      .prepare("SELECT count(*) AS tables FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .get() as { tables: number };
    return { tables, errors };
  } finally {
    database.close();
    plain.close();
    clearVersion(file);
  }
}

/** Returns why a statement failed. */
function run(database: DatabaseSync, written: string, kind: TemplateStatement['phase']): string | undefined {
  const sql = written.replace(BLANK, '');
  if (!KINDS[kind].test(sql)) return kind === 'schema' ? 'not a CREATE statement' : 'not an INSERT statement';
  try {
    const prepared = database.prepare(sql);
    // SQLite prepares only the first one.
    if (sql.slice(prepared.sourceSQL.length).replace(BLANK, '') !== '') return 'more than one statement';
    prepared.run();
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

/** Replaces the functions of time; `plain` has the original ones. */
function fixTime(database: DatabaseSync, plain: DatabaseSync, now: string): void {
  const moment = new Date(now).toISOString().replace('T', ' ').replace('Z', '');
  const original = (name: string, args: readonly SQLInputValue[]): SQLOutputValue => {
    const row = plain.prepare(`SELECT ${name}(${args.map(() => '?').join(', ')}) AS value`).get(...args);
    return row?.['value'] ?? null;
  };
  for (const [name, at] of Object.entries(TIME_FUNCTIONS))
    database.function(name, { deterministic: true, varargs: true }, (...args: SQLOutputValue[]) =>
      original(name, [...args.slice(0, at), isNow(args[at]) ? moment : (args[at] ?? null), ...args.slice(at + 1)]),
    );
  for (const [name, of] of [
    ['current_timestamp', 'datetime'],
    ['current_date', 'date'],
    ['current_time', 'time'],
  ] as const)
    database.function(name, { deterministic: true }, () => original(of, [moment]));
}

/** No argument means now, too. */
function isNow(value: SQLOutputValue | undefined): boolean {
  return value === undefined || (typeof value === 'string' && value.trim().toLowerCase() === 'now');
}

function fixRandomness(database: DatabaseSync): void {
  let count = 0;
  const next = (): Buffer => createHash('sha256').update(String(count++)).digest();
  database.function('random', {}, () => next().readBigInt64LE());
  database.function('randomblob', {}, (bytes: SQLOutputValue) => {
    const length = Math.min(Math.max(1, Math.floor(Number(bytes))), PAGE_BYTES * MAX_PAGES);
    const result = Buffer.alloc(length);
    for (let at = 0; at < length; at += 32) next().copy(result, at);
    return result;
  });
}

/** Newer versions of SQLite write the same database. */
function clearVersion(file: string): void {
  const bytes = readFileSync(file);
  if (bytes.length < VERSION.to) return; // it has no tables
  bytes.fill(0, VERSION.from, VERSION.to);
  writeFileSync(file, bytes);
}
