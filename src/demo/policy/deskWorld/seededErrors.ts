/** The errors that the faulty world of the demo model makes on purpose, decided by seed. */
import { isJsonObject, type Json, type JsonObject } from '../../../common/json.ts';
import type { Random } from '../../random.ts';
import type { Action } from './turns.ts';

/** Kinds of errors. Those that few calls allow come first, so that every kind occurs. */
export const WORLD_ERRORS = [
  'forgotten', // a read does not show an earlier write
  'disobeyed', // an instruction is ignored
  'succeeds', // a call succeeds that must fail
  'fails', // a call fails that must succeed
  'runtime', // an ID or a date has the wrong form
  'deterministic', // a value that follows from the calls is wrong
  'existing', // a value that existed before has changed
  'missing_key',
  'additional_key',
  'malformed', // no JSON: cut off, or wrapped in prose
] as const;
export type WorldError = (typeof WORLD_ERRORS)[number];

/** Kind → probability for each call that allows it. A kind without one does not occur. */
export type ErrorRates = Readonly<Partial<Record<WorldError, number>>>;

export const FAULTY: ErrorRates = {
  forgotten: 0.4,
  disobeyed: 0.4,
  succeeds: 0.3,
  fails: 0.05,
  runtime: 0.08,
  deterministic: 0.08,
  existing: 0.06,
  missing_key: 0.05,
  additional_key: 0.05,
  malformed: 0.05,
};

/** The observation of a call. */
export type DeskAnswer = { readonly ok: Json } | { readonly error: string };

/** An answer with an error. */
export interface Planted {
  readonly kind: WorldError;
  /** What is wrong, in words. */
  readonly detail: string;
  /** The whole observation. */
  readonly text: string;
}

/** The answers to a call: by the rules, and as other errors need them. */
export interface Answers {
  readonly action: Action;
  /** With instructions. */
  readonly right: DeskAnswer;
  /** Without instructions. Absent if none applies. */
  readonly unruled?: DeskAnswer | undefined;
  /** Returns the answer without an earlier write; undefined if none matters. It takes a while. */
  readonly forgotten: () => { readonly answer: DeskAnswer; readonly write: string } | undefined;
}

/** What the desk would return for a call that it refuses. */
const PRETENDED: Readonly<Record<string, (args: JsonObject) => Json>> = {
  list_loans: () => [],
  list_fines: () => ({ fines: [], total: '0.00' }),
  renew_loan: ({ loan_id }) => ({ loan_id: loan_id ?? null, title: 'The Salt Road', due: '2026-04-03', renewals: 1 }),
  check_out: () => ({ loan_id: 'L-3026', copy_id: 'C-201-1', title: 'The Salt Road', due: '2026-04-06' }),
  return_book: ({ loan_id }) => ({
    loan_id: loan_id ?? null,
    title: 'The Salt Road',
    returned: '2026-03-16',
    fine: null,
    kept_for: null,
  }),
  place_hold: () => ({ hold_id: 'H-404', title: 'The Salt Road', position: 1 }),
  pay_fine: ({ fine_id }) => ({ fine_id: fine_id ?? null, paid: '1.00', still_owed: '0.00' }),
};

/** Keys whose values follow from the calls. */
const DETERMINISTIC = new Set(
  'due renewals days_overdue copies available waiting amount total position paid still_owed'.split(' '),
);
/** Keys whose values existed before. */
const EXISTING = new Set('title author year name address card_expires reason'.split(' '));
/** Tool → keys whose values are made when it runs. */
const RUNTIME: Readonly<Record<string, readonly string[]>> = {
  renew_loan: ['due'],
  check_out: ['loan_id', 'due'],
  return_book: ['returned', 'fine_id'],
  place_hold: ['hold_id'],
};

/** Returns the error of a call; undefined for a right answer. */
export function plantedError(answers: Answers, rates: ErrorRates, random: Random): Planted | undefined {
  for (const kind of WORLD_ERRORS) {
    const strikes = random.chance(rates[kind] ?? 0);
    const planted = strikes ? plant(kind, answers, random) : undefined;
    if (planted !== undefined) return { kind, ...planted };
  }
  return undefined;
}

/** Returns the text of an observation. */
export function textOf(answer: DeskAnswer): string {
  return 'ok' in answer ? JSON.stringify(answer.ok) : `Error (tool_error): ${answer.error}`;
}

type Change = Omit<Planted, 'kind'>;
type Scalar = string | number | boolean;

/** Returns undefined if the call does not allow this kind of error. */
function plant(kind: WorldError, answers: Answers, random: Random): Change | undefined {
  const { action, right, unruled } = answers;
  switch (kind) {
    case 'forgotten': {
      const forgotten = answers.forgotten();
      return forgotten === undefined
        ? undefined
        : { detail: `it does not show ${forgotten.write}`, text: textOf(forgotten.answer) };
    }
    case 'disobeyed':
      return unruled === undefined ? undefined : { detail: 'it ignores the instruction', text: textOf(unruled) };
    case 'succeeds': {
      const pretended = 'ok' in right || unruled !== undefined ? undefined : PRETENDED[action.name]?.(action.args);
      return pretended === undefined ? undefined : { detail: 'it must fail', text: JSON.stringify(pretended) };
    }
    default:
      return 'ok' in right ? plantInResult(kind, action.name, right.ok, random) : undefined;
  }
}

function plantInResult(kind: WorldError, tool: string, value: Json, random: Random): Change | undefined {
  switch (kind) {
    case 'fails':
      return { detail: 'it must succeed', text: textOf({ error: 'Not allowed: the desk is closed.' }) };
    case 'malformed': {
      const text = JSON.stringify(value);
      return random.chance(0.5)
        ? { detail: 'it is cut off', text: text.slice(0, Math.max(1, Math.floor(text.length * 0.6))) }
        : { detail: 'it is wrapped in prose', text: `Here is the result:\n\`\`\`json\n${text}\n\`\`\`` };
    }
    case 'missing_key':
      return changed(
        value,
        random,
        () => true,
        () => undefined,
        (key) => `it lacks \`${key}\``,
      );
    case 'additional_key':
      return added(value);
    case 'deterministic':
      return changed(
        value,
        random,
        (key) => DETERMINISTIC.has(key),
        other,
        (key) => `\`${key}\` does not follow`,
      );
    case 'existing':
      return changed(
        value,
        random,
        (key) => EXISTING.has(key),
        renamed,
        (key) => `\`${key}\` was different before`,
      );
    default:
      return changed(
        value,
        random,
        (key) => RUNTIME[tool]?.includes(key) === true,
        deformed,
        (key) => `\`${key}\` has another form`,
      );
  }
}

/** Changes one value of an object in a result, whose key is wanted; undefined if there is none. */
function changed(
  value: Json,
  random: Random,
  wanted: (key: string) => boolean,
  change: (value: Scalar) => Json | undefined,
  say: (key: string) => string,
): Change | undefined {
  const copy = structuredClone(value);
  const places = objectsIn(copy).flatMap((object) =>
    Object.keys(object).flatMap((key) => {
      const old = object[key];
      return wanted(key) && isScalar(old) ? [{ object, key, old }] : [];
    }),
  );
  const place = random.pick(places);
  if (place === undefined) return undefined;
  const made = change(place.old);
  if (made === undefined) Reflect.deleteProperty(place.object, place.key);
  else place.object[place.key] = made;
  return { detail: say(place.key), text: JSON.stringify(copy) };
}

function added(value: Json): Change | undefined {
  const copy = structuredClone(value);
  const [object] = objectsIn(copy);
  if (object === undefined) return undefined;
  object['branch'] = 'Main Street';
  return { detail: 'it has the additional key `branch`', text: JSON.stringify(copy) };
}

function objectsIn(value: Json): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  return isJsonObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];
}

function isScalar(value: Json | undefined): value is Scalar {
  return value !== undefined && value !== null && typeof value !== 'object';
}

/** A later day, a larger number, or a larger amount. */
function other(value: Scalar): Json {
  if (typeof value !== 'string') return Number(value) + 1;
  if (!/^\d{4}-/.test(value)) return (Number(value) + 1).toFixed(2);
  return new Date(Date.parse(value) + 86_400_000).toISOString().slice(0, 10);
}

function renamed(value: Scalar): Json {
  return typeof value === 'string' ? `New ${value}` : Number(value) - 1;
}

/** `L-3026` becomes `3026`, and `2026-04-06` becomes `06/04/2026`. */
function deformed(value: Scalar): Json {
  const [year = '', month = '', day] = value.toString().split('-');
  return day === undefined ? Number(month) : `${day}/${month}/${year}`;
}
