/**
 * Judges a rollout by what it did to the library: the changes the task expects, and no others.
 * How the agent got there does not matter, and neither does what it says, unless the task asks for an answer.
 */
import type { JsonValue, Verdict, WorldChange } from 'rollout-studio';
import { z } from 'zod';

const expectation = z.object({
  /** Changed rows: `{"table": "loans", "key": "L-3001", "set": {"renewals": 1}}`; new ones have no key. */
  changes: z.array(z.object({
    table: z.enum(['loans', 'holds', 'fines']),
    key: z.string().optional(),
    /** Columns at the end. In a changed row the others must be as they were; in a new one they are not looked at. */
    set: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
  })).default([]),
});
type Expected = z.infer<typeof expectation>['changes'][number];
type Row = Record<string, JsonValue>;
interface NetChange { table: string; key: string; isNew: boolean; before: Row; after: Row }

export function verify(state: JsonValue | undefined, changes: readonly WorldChange[], answer: JsonValue, expectedAnswer: JsonValue | undefined): Verdict {
  const wanted = expectation.parse(state ?? {}).changes;
  const left = netChanges(changes);
  const parts: Record<string, number> = {};
  const wrong: string[] = [];
  for (const change of wanted) {
    const name = describe(change);
    const found = left.findIndex((made) => matches(made, change));
    parts[name] = found === -1 ? 0 : 1;
    if (found === -1) wrong.push(`missing: ${name}`);
    else left.splice(found, 1);
  }
  parts['nothing else'] = left.length === 0 ? 1 : 0;
  for (const made of left) wrong.push(`not asked for: ${made.isNew ? 'new' : 'change of'} ${made.table} ${made.key}`);
  if (expectedAnswer !== undefined) {
    const said = says(answer, expectedAnswer);
    parts['answer'] = said ? 1 : 0;
    if (!said) wrong.push(`answer ${JSON.stringify(answer)} instead of ${JSON.stringify(expectedAnswer)}`);
  }
  const passed = wrong.length === 0;
  return { value: passed ? 1 : 0, passed, parts, explanation: passed ? 'The library is as it should be.' : `${wrong.join('; ')}.` };
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
      table: first.table ?? '', key: String(first.key), isNew: first.before === undefined,
      before: (first.before ?? {}) as Row, after: (last.after ?? {}) as Row,
    }));
}

function matches(made: NetChange, { table, key, set }: Expected): boolean {
  if (made.table !== table || made.isNew !== (key === undefined) || (key !== undefined && key !== made.key)) return false;
  const columns = Object.keys(made.isNew ? set : made.after);
  return columns.every((column) => made.after[column] === (Object.hasOwn(set, column) ? set[column] : made.before[column]));
}

function describe({ table, key, set }: Expected): string {
  const columns = Object.entries(set).map(([column, value]) => `${column} ${String(value)}`).join(', ');
  return key === undefined ? `new ${table} (${columns})` : `${table} ${key} (${columns})`;
}

/** Whether the last line of the answer has the expected text as a word of its own. */
function says(answer: JsonValue, expected: JsonValue): boolean {
  if (typeof answer !== 'string' && typeof answer !== 'number') return false;
  const line = String(answer).trim().split('\n').at(-1) ?? '';
  const words = line.toLowerCase().split(/[\s"'*€$()]+/).map((word) => word.replace(/[.,:;!?]+$/, ''));
  return words.includes(String(expected).toLowerCase());
}
