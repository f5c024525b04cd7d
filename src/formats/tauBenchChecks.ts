/**
 * Why tau-bench gave no reward. Its results say only whether the database and the outputs were right; the expected
 * actions and the recorded calls tell which action is missing, has other arguments, or was not expected.
 */
import { isSameJson, type Json, type JsonObject } from '../common/json.ts';
import type { Check } from '../trace/schema.ts';

interface Action {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** Actions that leave the database as it is do not count, as in the benchmark. */
const READS = /^(get|search|list|find|calculate|think|transfer_to_human_agents)(_|$)/;

/** Returns a check for each expected action that changes the database, and one for actions that were not expected. */
export function actionChecks(expected: readonly Action[], made: readonly Action[]): Check[] {
  const left = made.filter(({ name }) => !READS.test(name));
  const take = (matches: (action: Action) => boolean): Action | undefined => {
    const at = left.findIndex(matches);
    return at === -1 ? undefined : left.splice(at, 1)[0];
  };
  const wanting = expected.filter(
    ({ name, arguments: args }) =>
      !READS.test(name) && take((other) => other.name === name && isSameJson(other.arguments, args)) === undefined,
  );
  const right = expected.filter((action) => !READS.test(action.name) && !wanting.includes(action));
  return [
    ...wanting.map(
      (action): Check =>
        failedAction(
          action,
          take(({ name }) => name === action.name),
        ),
    ),
    ...right.map(
      (action): Check => ({ name: action.name, passed: true, expected: action.arguments, actual: action.arguments }),
    ),
    {
      name: 'no other action',
      passed: left.length === 0,
      cause: `unexpected ${left[0]?.name ?? ''}`,
      expected: [],
      actual: left.map(({ name, arguments: args }): Json => ({ name, arguments: args })),
    },
  ];
}

/** Returns a check for each text that the agent had to say. The benchmark reads them only if the database is right. */
export function outputChecks(outputs: Readonly<Record<string, boolean>>): Check[] {
  return Object.entries(outputs).map(([text, said]) => ({
    name: `says ${text}`,
    passed: said,
    cause: 'output missing',
    expected: text,
  }));
}

function failedAction({ name, arguments: expected }: Action, closest: Action | undefined): Check {
  if (closest === undefined) return { name, passed: false, cause: `${name}: not called`, expected };
  const differing = Object.keys({ ...expected, ...closest.arguments }).filter(
    (key) => !isSameJson(expected[key] ?? null, closest.arguments[key] ?? null),
  );
  return { name, passed: false, cause: `${name}: wrong ${differing.join(', ')}`, expected, actual: closest.arguments };
}
