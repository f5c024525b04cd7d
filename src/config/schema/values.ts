/**
 * Value types for the schemas of user files. In this room, the error text of a schema is **what is expected**, a line
 * break, and an example; `source/validate.ts` builds the message from it. A custom issue with `params.hint` already is
 * a complete message (see `fault`).
 */
import { z } from 'zod';
import type { ProblemCode } from '../source/problem.ts';

/** Returns the error option of a schema: what is expected, and an example. */
export function expects(what: string, example: string): { error: string } {
  return { error: `${what}\n${example}` };
}

interface Refinement {
  addIssue(issue: {
    code: 'custom';
    message: string;
    path?: (string | number)[];
    params: { hint: string; code: ProblemCode };
  }): void;
}

/** Adds an issue whose message is complete. */
export function fault(
  context: Refinement,
  message: string,
  hint: string,
  options: { path?: (string | number)[]; code?: ProblemCode } = {},
): void {
  context.addIssue({
    code: 'custom',
    message,
    ...(options.path === undefined ? {} : { path: options.path }),
    params: { hint, code: options.code ?? 'value' },
  });
}

export function text(example: string, what = 'text'): z.ZodString {
  return z.string(expects(what, example)).min(1, expects(what, example));
}

/** A path as written in the file, relative to that file. */
export function path(example: string): z.ZodString {
  return text(example, 'the path of a file');
}

export function whole(min: number, example: number): z.ZodInt {
  const options = expects(min === 0 ? 'a whole number, 0 or more' : `a whole number, ${min} or more`, String(example));
  return z.int(options).min(min, options);
}

export function number(options: { min: number; max?: number; what: string; example: number }): z.ZodNumber {
  const expected = expects(options.what, String(options.example));
  const schema = z.number(expected).min(options.min, expected);
  return options.max === undefined ? schema : schema.max(options.max, expected);
}

export const flag = z.boolean(expects('true or false', 'true'));

export function choice<const T extends readonly [string, ...string[]]>(values: T): z.ZodEnum<{ [K in T[number]]: K }> {
  return z.enum(values, expects(values.length === 1 ? values[0] : `one of ${values.join(', ')}`, values[0]));
}

export function listOf<T extends z.ZodType>(item: T, what: string, example: string): z.ZodArray<T> {
  return z.array(item, expects(what, example));
}

/** A group of keys, with an example for error messages. */
export function group<const S extends z.ZodRawShape>(
  shape: S,
  what: string,
  example: string,
): z.ZodObject<S, z.core.$strict> {
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'invalid_type' ? expects(what, example).error : undefined),
  });
}

/** Programs by their names, e.g. `python`. */
export function programs(): z.ZodArray<z.ZodString> {
  const program = expects('the name of a program', 'python');
  return listOf(z.string(program).regex(/^[A-Za-z0-9][\w.+-]*$/, program), 'a list of programs', '[python]');
}

/** Names of agents and worlds appear in instance paths and links: `desk/searcher#2`. */
export const name = text('desk', 'a name').regex(
  /^[A-Za-z0-9][\w.-]*$/,
  expects('a name of letters, digits, `-`, `_` and `.`', 'desk'),
);

type WrittenQuantity = z.ZodUnion<readonly [z.ZodNumber, z.ZodString]>;
type Unit = z.ZodPipe<WrittenQuantity, z.ZodTransform<number, number | string>>;

function unit(what: string, example: string, read: (value: string | number) => number | undefined): Unit {
  const expected = expects(what, example);
  return z.union([z.number(), z.string()], expected).transform((value, context) => {
    const result = read(value);
    if (result !== undefined) return result;
    context.addIssue({ code: 'custom', message: expected.error });
    return z.NEVER;
  });
}

const SECONDS: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  sec: 1,
  second: 1,
  seconds: 1,
  m: 60,
  min: 60,
  minute: 60,
  minutes: 60,
  h: 3600,
  hr: 3600,
  hour: 3600,
  hours: 3600,
  d: 86_400,
  day: 86_400,
  days: 86_400,
};

/** Parses `30s`, `10 min`, `1h 30m`, or `900` to seconds; undefined if it is invalid or negative. */
export function parseDuration(written: string | number): number | undefined {
  if (typeof written === 'number') return Number.isFinite(written) && written >= 0 ? written : undefined;
  const compact = written.trim().toLowerCase();
  if (/^\d+(\.\d+)?$/.test(compact)) return Number(compact);
  if (!/^(\d+(\.\d+)?\s*[a-z]+\s*)+$/.test(compact)) return undefined;
  let seconds = 0;
  for (const [, count, name] of compact.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/g)) {
    const factor = SECONDS[name ?? ''];
    if (factor === undefined) return undefined;
    seconds += Number(count) * factor;
  }
  return seconds;
}

/** Parses `50%` or `0.5` to a number from 0 to 1. */
export function parseShare(written: string | number): number | undefined {
  const percent = typeof written === 'string' ? /^\s*(\d+(?:\.\d+)?)\s*%\s*$/.exec(written)?.[1] : undefined;
  const share = percent === undefined ? Number(written === '' ? Number.NaN : written) : Number(percent) / 100;
  return share >= 0 && share <= 1 ? share : undefined;
}

/** Parses `200000`, `200_000`, `8k`, `50M`, or `1.5G` to an integer. */
export function parseAmount(written: string | number): number | undefined {
  if (typeof written === 'number') return Number.isSafeInteger(written) && written >= 0 ? written : undefined;
  const match = /^\s*(\d[\d_]*(?:\.\d+)?)\s*([kKmMgG]?)\s*$/.exec(written);
  if (match === null) return undefined;
  const factor = { '': 1, k: 1e3, m: 1e6, g: 1e9 }[(match[2] ?? '').toLowerCase()] ?? 1;
  const amount = Math.round(Number((match[1] ?? '').replaceAll('_', '')) * factor);
  return Number.isSafeInteger(amount) ? amount : undefined;
}

export function duration(example: string): Unit {
  return unit('a duration: seconds as a number, or 30s, 10 min, 1h', example, (value) => {
    const seconds = parseDuration(value);
    return seconds === 0 ? undefined : seconds;
  });
}

export function share(example: string): Unit {
  return unit('a share: 50%, or a number from 0 to 1', example, parseShare);
}

export function amount(example: string): Unit {
  return unit('an amount from 1 up: a whole number, or 8k, 50M', example, (value) => {
    const count = parseAmount(value);
    return count === 0 ? undefined : count;
  });
}
