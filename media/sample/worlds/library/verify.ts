/**
 * Judges a rollout by what it did to the library: the changes the task expects, and no others.
 * How the agent got there does not matter, and neither does what it says, unless the task expects an answer.
 */
import type { Check, JsonValue, Verdict, WorldChange } from 'rollout-studio';
import { z } from 'zod';
import type { Row } from './database.ts';

const expectation = z.object({
  /** Changed rows: `{"table": "loans", "key": "L-3001", "set": {"renewals": 1}}`; new ones have no key. */
  changes: z.array(z.object({
    table: z.enum(['loans', 'holds', 'fines']),
    key: z.string().optional(),
    /** Columns at the end. In a changed row the others must be as they were; in a new one they are not compared. */
    set: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
  })).default([]),
});
type Expected = z.infer<typeof expectation>['changes'][number];
interface NetChange { readonly table: string; readonly key: string; readonly before: Row | undefined; readonly after: Row }

/** What a missing change is called, by the column that would show it. */
const NOT_DONE: Readonly<Record<string, string>> = { returned: 'not returned', paid: 'not paid', renewals: 'not renewed' };

/** `rowOf` returns a row as it is now. */
export function verify(
  state: JsonValue | undefined,
  { changes, rowOf }: { readonly changes: readonly WorldChange[]; readonly rowOf: (table: Expected['table'], key: string) => Row | undefined },
  answer: JsonValue,
  expectedAnswer: JsonValue | undefined,
): Verdict {
  const left = netChanges(changes);
  // An expected new row takes the new row that is closest to it, so rows that match exactly are taken first.
  const checks = expectation.parse(state ?? {}).changes.map((change): Check =>
    change.key === undefined ? checkNewRow(change, left) : checkRow(change, change.key, left, rowOf(change.table, change.key)));
  checks.push({
    name: 'nothing else changed', passed: left.length === 0, cause: `unexpected change in ${left[0]?.table ?? ''}`,
    expected: [], actual: left.map(({ table, key, before }) => `${before === undefined ? 'new ' : ''}${table} ${key}`),
  });
  if (expectedAnswer !== undefined)
    checks.push({ name: 'answer', passed: says(answer, expectedAnswer), expected: expectedAnswer, actual: answer });
  const failed = checks.filter(({ passed }) => !passed);
  const passed = failed.length === 0;
  return { value: passed ? 1 : 0, passed, checks, explanation: passed ? 'The library is as it should be.' : failed.map(explain).join(' ') };
}

/** The journal folded to one entry for each row that differs from what it was. */
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

/** Takes the change of the row out of `left`, and compares the columns that are expected or changed. */
function checkRow({ table, set }: Expected, key: string, left: NetChange[], now: Row | undefined): Check {
  const at = left.findIndex((made) => made.table === table && made.key === key);
  const [made] = at === -1 ? [] : left.splice(at, 1);
  const before = made === undefined ? now : made.before;
  const after = made?.after ?? now ?? {};
  const columns = Object.keys({ ...set, ...after }).filter((column) => Object.hasOwn(set, column) || after[column] !== before?.[column]);
  const expected = pick({ ...before, ...set }, columns);
  const actual = pick(after, columns);
  const wrong = columns.filter((column) => actual[column] !== expected[column]);
  const missing = Object.keys(set).map((column) => NOT_DONE[column]).find((text) => text !== undefined) ?? 'not changed';
  return {
    name: `${table} ${key}`, passed: wrong.length === 0,
    cause: `${table}: ${made === undefined ? missing : `wrong ${wrong.join(', ')}`}`,
    expected, actual, row: { table, key, ...(before === undefined ? {} : { before }) },
  };
}

function checkNewRow({ table, set }: Expected, left: NetChange[]): Check {
  const equal = ({ after }: NetChange): number => Object.keys(set).filter((column) => after[column] === set[column]).length;
  const made = left.filter((change) => change.table === table && change.before === undefined).toSorted((a, b) => equal(b) - equal(a))[0];
  if (made === undefined) return { name: `new ${table}`, passed: false, cause: `${table}: row missing`, expected: set, row: { table, key: null } };
  left.splice(left.indexOf(made), 1);
  const columns = Object.keys(set);
  const wrong = columns.filter((column) => made.after[column] !== set[column]);
  return {
    name: `new ${table}`, passed: wrong.length === 0, cause: `${table}: wrong ${wrong.join(', ')}`,
    expected: set, actual: pick(made.after, columns), row: { table, key: made.key },
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

/** Whether the last line of the answer has the expected text as a word of its own. */
function says(answer: JsonValue, expected: JsonValue): boolean {
  if (typeof answer !== 'string' && typeof answer !== 'number') return false;
  const line = String(answer).trim().split('\n').at(-1) ?? '';
  const words = line.toLowerCase().split(/[\s"'*€$()]+/).map((word) => word.replace(/[.,:;!?]+$/, ''));
  return words.includes(String(expected).toLowerCase());
}
