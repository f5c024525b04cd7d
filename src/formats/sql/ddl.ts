/** Reads `CREATE TABLE`: columns, keys, and foreign keys. */
import { isSql, parenthesized, type SqlToken, sqlTokens } from './tokens.ts';
import { type SqlValue, valueOf } from './values.ts';

export interface SqlColumn {
  readonly name: string;
  /** As written; empty if none is. */
  readonly type: string;
  readonly isKey: boolean;
  /** `NOT NULL`, or part of the key. */
  readonly isRequired: boolean;
  /** What a row without a value for it gets. */
  readonly default?: SqlValue;
  /** Whether it is computed from others, and if the result is stored. */
  readonly computed?: 'virtual' | 'stored';
}

export interface SqlForeignKey {
  readonly columns: readonly string[];
  readonly table: string;
  /** Columns of the other table. Empty: its key. */
  readonly references: readonly string[];
}

export interface SqlTable {
  readonly name: string;
  readonly columns: readonly SqlColumn[];
  /** Columns of its key, in their order in the key. */
  readonly key: readonly string[];
  readonly foreignKeys: readonly SqlForeignKey[];
}

/** Words that end the type of a column. */
const CONSTRAINTS =
  /^(CONSTRAINT|PRIMARY|NOT|NULL|UNIQUE|CHECK|DEFAULT|COLLATE|REFERENCES|GENERATED|AS|AUTOINCREMENT|ON)$/i;
const TABLE_CONSTRAINTS = /^(CONSTRAINT|PRIMARY|UNIQUE|CHECK|FOREIGN)$/i;

/** Returns undefined for a text that creates no table. */
export function parseTable(ddl: string): SqlTable | undefined {
  const tokens = sqlTokens(ddl);
  const open = tokens.findIndex((token) => isSql(token, '('));
  const body = parenthesized(tokens, open);
  const name = tokens[open - 1];
  if (body === undefined || name === undefined || !tokens.slice(0, open).some((token) => isSql(token, 'TABLE')))
    return undefined;
  const columns: SqlColumn[] = [];
  const foreignKeys: SqlForeignKey[] = [];
  const keys = new Set<string>();
  for (const item of body.items) {
    const [first] = item;
    if (first === undefined) continue;
    if (first.kind === 'word' && TABLE_CONSTRAINTS.test(first.text)) addConstraint(item, keys, foreignKeys);
    else columns.push(columnOf(item, foreignKeys));
  }
  const marked = columns.map((column) =>
    keys.has(column.name.toLowerCase()) ? { ...column, isKey: true, isRequired: true } : column,
  );
  const inKey = [...keys].flatMap((key) => marked.find((column) => column.name.toLowerCase() === key)?.name ?? []);
  return {
    name: name.text,
    columns: marked,
    key: inKey.length > 0 ? inKey : marked.filter(({ isKey }) => isKey).map((column) => column.name),
    foreignKeys,
  };
}

function columnOf(item: readonly SqlToken[], foreignKeys: SqlForeignKey[]): SqlColumn {
  const [name, ...rest] = item;
  const end = rest.findIndex((token) => token.kind === 'word' && CONSTRAINTS.test(token.text));
  const type = end === -1 ? rest : rest.slice(0, end);
  const isKey = hasWords(rest, 'PRIMARY', 'KEY');
  const at = rest.findIndex((token) => isSql(token, 'REFERENCES'));
  if (at !== -1) addReference([name?.text ?? ''], rest, at, foreignKeys);
  const fallback = rest.findIndex((token) => isSql(token, 'DEFAULT'));
  const value = fallback === -1 ? undefined : defaultOf(rest, fallback + 1);
  const formula = rest.findIndex((token, index) => isSql(token, 'AS') && isSql(rest[index + 1], '('));
  const isStored = rest.slice(formula).some((token) => isSql(token, 'STORED'));
  return {
    name: name?.text ?? '',
    type: type.reduce(
      (text, token) => text + (/^[(),]$/.test(token.text) || text.endsWith('(') || text === '' ? '' : ' ') + token.text,
      '',
    ),
    isKey,
    isRequired: isKey || hasWords(rest, 'NOT', 'NULL'),
    ...(value === undefined ? {} : { default: value }),
    ...(formula === -1 ? {} : { computed: isStored ? 'stored' : 'virtual' }),
  };
}

function defaultOf(tokens: readonly SqlToken[], at: number): SqlValue {
  const inner = parenthesized(tokens, at);
  if (inner !== undefined) return valueOf(inner.items[0] ?? []);
  return valueOf(tokens.slice(at, isSql(tokens[at], '-') || isSql(tokens[at], '+') ? at + 2 : at + 1));
}

function addConstraint(item: readonly SqlToken[], keys: Set<string>, foreignKeys: SqlForeignKey[]): void {
  const open = item.findIndex((token) => isSql(token, '('));
  const names = (parenthesized(item, open)?.items ?? []).map(([first]) => first?.text ?? '');
  if (hasWords(item.slice(0, open), 'PRIMARY', 'KEY')) for (const name of names) keys.add(name.toLowerCase());
  const at = item.findIndex((token) => isSql(token, 'REFERENCES'));
  if (hasWords(item.slice(0, open), 'FOREIGN', 'KEY') && at !== -1) addReference(names, item, at, foreignKeys);
}

function addReference(
  columns: readonly string[],
  tokens: readonly SqlToken[],
  at: number,
  foreignKeys: SqlForeignKey[],
): void {
  const table = tokens[at + 1];
  if (table === undefined) return;
  const references = (parenthesized(tokens, at + 2)?.items ?? []).map(([first]) => first?.text ?? '');
  foreignKeys.push({ columns, table: table.text, references });
}

function hasWords(tokens: readonly SqlToken[], first: string, second: string): boolean {
  return tokens.some((token, index) => isSql(token, first) && isSql(tokens[index + 1], second));
}
