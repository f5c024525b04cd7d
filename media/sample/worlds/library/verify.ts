/**
 * Scores a rollout by its changes to the library: those that the task expects, and no others. How the agent made them
 * does not matter, nor does what it says, unless the task expects an answer.
 */
import type { Check, JsonValue, Verdict, WorldChange } from 'rollout-studio';
import { z } from 'zod';
import type { Row } from './database.ts';

const expectation = z.object({
  /** Changed rows: `{"table": "loans", "key": "L-3001", "set": {"renewals": 1}}`; new ones have no key. */
  changes: z.array(z.object({
    table: z.enum(['loans', 'holds', 'fines']),
    key: z.string().optional(),
    /** Final values. The other columns of a changed row must be unchanged; those of a new row are not compared. */
    set: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
  })).default([]),
});
type Expected = z.infer<typeof expectation>['changes'][number];
interface NetChange { readonly table: string; readonly key: string; readonly before: Row | undefined; readonly after: Row }

/** Names of missing changes by the column that would show them. */
const NOT_DONE: Readonly<Record<string, string>> = { returned: 'not returned', paid: 'not paid', renewals: 'not renewed' };

/** `rowOf` returns the current row. */
export function verify(
  state: JsonValue | undefined,
  { changes, rowOf }: { readonly changes: readonly WorldChange[]; readonly rowOf: (table: Expected['table'], key: string) => Row | undefined },
  answer: JsonValue,
  expectedAnswer: JsonValue | undefined,
): Verdict {
  const remaining = netChanges(changes);
  // An expected new row is compared with the new row that is most similar to it.
  const checks = expectation.parse(state ?? {}).changes.map((change): Check =>
    change.key === undefined ? checkNewRow(change, remaining) : checkRow(change, change.key, remaining, rowOf(change.table, change.key)));
  checks.push({
    name: 'nothing else changed', passed: remaining.length === 0, cause: `unexpected change in ${remaining[0]?.table ?? ''}`,
    expected: [], actual: remaining.map(({ table, key, before }) => `${before === undefined ? 'new ' : ''}${table} ${key}`),
  });
  if (expectedAnswer !== undefined)
    checks.push({ name: 'answer', passed: says(answer, expectedAnswer), expected: expectedAnswer, actual: answer });
  const failed = checks.filter(({ passed }) => !passed);
  const passed = failed.length === 0;
  return { value: passed ? 1 : 0, passed, checks, explanation: passed ? 'The library is as it should be.' : failed.map(explain).join(' ') };
}

/** Reduces the journal to one entry for each row that differs from its initial state. */
function netChanges(changes: readonly WorldChange[]): NetChange[] {
  const rows = new Map<string, { first: WorldChange; last: WorldChange }>();
  for (const change of changes) {
    const key = `${change.table ?? ''} ${String(change.key)}`;
    rows.set(key, { first: rows.get(key)?.first ?? change, last: change });
  }
  return [...rows.values()]
    .filter(({ first, last }) => JSON.stringify(first.before) !== JSON.stringify(last.after))
    .map(({ first, last }) => ({
      table: first.table ?? '', key: String(first.key),
      before: first.before as Row | undefined, after: (last.after ?? {}) as Row,
    }));
}

/** Removes the change of the row from `remaining`, and compares the columns that are expected or changed. */
function checkRow({ table, set }: Expected, key: string, remaining: NetChange[], now: Row | undefined): Check {
  const at = remaining.findIndex((change) => change.table === table && change.key === key);
  const [change] = at === -1 ? [] : remaining.splice(at, 1);
  const before = change === undefined ? now : change.before;
  const after = change?.after ?? now ?? {};
  const columns = Object.keys({ ...set, ...after }).filter((column) => Object.hasOwn(set, column) || after[column] !== before?.[column]);
  const expected = pick({ ...before, ...set }, columns);
  const actual = pick(after, columns);
  const wrong = columns.filter((column) => actual[column] !== expected[column]);
  const missing = Object.keys(set).map((column) => NOT_DONE[column]).find((text) => text !== undefined) ?? 'not changed';
  return {
    name: `${table} ${key}`, passed: wrong.length === 0,
    cause: `${table}: ${change === undefined ? missing : `wrong ${wrong.join(', ')}`}`,
    expected, actual, row: { table, key, ...(before === undefined ? {} : { before }) },
  };
}

function checkNewRow({ table, set }: Expected, remaining: NetChange[]): Check {
  const equal = ({ after }: NetChange): number => Object.keys(set).filter((column) => after[column] === set[column]).length;
  const closest = remaining.filter((change) => change.table === table && change.before === undefined).toSorted((a, b) => equal(b) - equal(a))[0];
  if (closest === undefined) return { name: `new ${table}`, passed: false, cause: `${table}: row missing`, expected: set, row: { table, key: null } };
  remaining.splice(remaining.indexOf(closest), 1);
  const columns = Object.keys(set);
  const wrong = columns.filter((column) => closest.after[column] !== set[column]);
  return {
    name: `new ${table}`, passed: wrong.length === 0, cause: `${table}: wrong ${wrong.join(', ')}`,
    expected: set, actual: pick(closest.after, columns), row: { table, key: closest.key },
  };
}

function pick(row: Row, columns: readonly string[]): Row {
  return Object.fromEntries(columns.map((column) => [column, row[column] ?? null]));
}

function explain({ name, expected, actual }: Check): string {
  if (name === 'nothing else changed') return `Also changed: ${(actual as string[]).join(', ')}.`;
  if (name === 'answer') return `The answer is ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}.`;
  const columns = (row: Row): string => Object.entries(row).map(([column, value]) => `${column} ${String(value)}`).join(', ');
  return actual === undefined ? `${name}: missing, expected ${columns(expected as Row)}.` : `${name}: ${columns(actual as Row)}, expected ${columns(expected as Row)}.`;
}

/** Returns whether the last line of the answer contains the expected text as a whole word. */
function says(answer: JsonValue, expected: JsonValue): boolean {
  if (typeof answer !== 'string' && typeof answer !== 'number') return false;
  const line = String(answer).trim().split('\n').at(-1) ?? '';
  const words = line.toLowerCase().split(/[\s"'*€$()]+/).map((word) => word.replace(/[.,:;!?]+$/, ''));
  return words.includes(String(expected).toLowerCase());
}
