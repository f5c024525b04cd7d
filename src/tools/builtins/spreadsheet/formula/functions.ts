/** Spreadsheet functions. */
import * as formulajs from '@formulajs/formulajs';
import { CellError, type Value } from '../cells.ts';
import { CRITERIA, wildcards } from './criteria.ts';
import { asText, isTable, mapTables, type Result } from './results.ts';
import { formatted, numberOf } from './text.ts';

/**
 * Library functions whose results match LibreOffice and Excel (test/unit/tools/builtins/formulas.test.ts). Many others
 * are wrong, and a wrong value is worse than none.
 */
const TRUSTED: ReadonlySet<string> = new Set(
  `
  ABS ACOS ACOSH AND ARABIC ASIN ASINH ATAN ATANH AVEDEV AVERAGE AVERAGEA BASE BETA.DIST BIN2DEC BINOM.DIST BITAND
  BITOR BITXOR CEILING CEILING.MATH CHAR CHISQ.DIST CHISQ.DIST.RT CHISQ.INV.RT CLEAN CODE COMBIN COMBINA
  CONFIDENCE.NORM CORREL COS COSH COUNT COUNTA COUNTBLANK COVARIANCE.P COVARIANCE.S CUMIPMT CUMPRINC DATE DATEDIF
  DAY DAYS DAYS360 DB DDB DEC2BIN DEC2OCT DECIMAL DEGREES DEVSQ DOLLAR EDATE EFFECT EOMONTH EVEN EXACT EXP
  EXPON.DIST F.DIST.RT FACT FACTDOUBLE FALSE FIND FIXED FLOOR FLOOR.MATH FORECAST FV FVSCHEDULE GAMMA.DIST GAMMALN
  GCD GEOMEAN HARMEAN HEX2DEC HOUR INT INTERCEPT IPMT IRR ISEVEN ISLOGICAL ISNONTEXT ISNUMBER ISODD ISOWEEKNUM
  ISPMT ISTEXT KURT LARGE LCM LEN LN LOG LOG10 LOGNORM.DIST LOOKUP LOWER MAX MAXA MEDIAN MID MIN MINA MINUTE MIRR
  MMULT MODE.SNGL MONTH MROUND MULTINOMIAL N NA NETWORKDAYS NETWORKDAYS.INTL NOMINAL NORM.DIST NORM.INV
  NORM.S.DIST NORM.S.INV NOT NOW NPER NPV NUMBERVALUE OCT2DEC ODD OR PEARSON PERCENTILE.EXC PERCENTILE.INC
  PERCENTRANK.INC PERMUT PI PMT POISSON.DIST POWER PPMT PRODUCT PV QUARTILE.EXC QUARTILE.INC QUOTIENT RADIANS RAND
  RANDBETWEEN RANK.AVG RANK.EQ RATE REPLACE REPT RIGHT ROMAN ROUND ROUNDDOWN ROUNDUP RRI RSQ SECOND SERIESSUM SIGN
  SIN SINH SKEW SLN SLOPE SMALL SQRT SQRTPI STANDARDIZE STDEV.P STDEV.S STDEVA STEYX SUBSTITUTE SUBTOTAL SUM
  SUMPRODUCT SUMSQ SUMX2MY2 SUMX2PY2 SUMXMY2 SYD T T.DIST.2T T.DIST.RT T.INV T.INV.2T TAN TANH TIME TODAY
  TRANSPOSE TRIM TRIMMEAN TRUE TRUNC UNICHAR UNICODE UPPER VAR.P VAR.S VARA WEEKDAY WEEKNUM WORKDAY WORKDAY.INTL
  XIRR XNPV XOR YEAR YEARFRAC
`
    .trim()
    .split(/\s+/),
);

type Fn = (...args: readonly unknown[]) => unknown;

const FUNCTIONS: ReadonlyMap<string, Fn> = new Map([
  ...Object.entries(formulajs as Readonly<Record<string, unknown>>).flatMap(([name, value]) =>
    functionsOf(name, value).filter(([of]) => TRUSTED.has(of)),
  ),
  ...Object.entries({ XLOOKUP: xlookup, UNIQUE: unique } as Readonly<Record<string, Fn>>),
]);

/** Legacy names of functions. */
const OLD_NAMES: Readonly<Record<string, string>> = {
  RANK: 'RANK.EQ',
  STDEV: 'STDEV.S',
  STDEVP: 'STDEV.P',
  VARP: 'VAR.P',
  VAR: 'VAR.S',
  MODE: 'MODE.SNGL',
  PERCENTILE: 'PERCENTILE.INC',
  QUARTILE: 'QUARTILE.INC',
  PERCENTRANK: 'PERCENTRANK.INC',
  NORMDIST: 'NORM.DIST',
  NORMINV: 'NORM.INV',
  NORMSINV: 'NORM.S.INV',
  CONFIDENCE: 'CONFIDENCE.NORM',
  COVAR: 'COVARIANCE.P',
};

/** Collects functions: `CEILING` is a function with a member `CEILING.MATH`; `STDEV` has only members. */
function functionsOf(name: string, value: unknown): [string, Fn][] {
  if (name !== name.toUpperCase() || value === null || (typeof value !== 'function' && typeof value !== 'object'))
    return [];
  const members = Object.entries(value).flatMap(([member, inner]: [string, unknown]) =>
    functionsOf(member, inner).map(([of, fn]): [string, Fn] => [`${name}.${of}`, fn]),
  );
  return typeof value === 'function' ? [[name, value as Fn], ...members] : members; // a function with members
}

function libraryFunction(name: string): Fn | undefined {
  return FUNCTIONS.get(name) ?? FUNCTIONS.get(OLD_NAMES[name] ?? '');
}

const rowsOf = (value: unknown): unknown[][] =>
  Array.isArray(value) ? value.map((row: unknown) => (Array.isArray(row) ? (row as unknown[]) : [row])) : [[value]];
const same = (left: unknown, right: unknown): boolean =>
  typeof left === 'string' && typeof right === 'string' ? left.toLowerCase() === right.toLowerCase() : left === right;

/** Supports only exact matches, searching from the start. */
function xlookup(
  target: unknown,
  within: unknown,
  from: unknown,
  otherwise: unknown = new Error('#N/A'),
  match: unknown = 0,
  direction: unknown = 1,
): unknown {
  if (match !== 0 || direction !== 1) return new Error('#VALUE!');
  const keys = rowsOf(within);
  const results = rowsOf(from);
  const across = keys.length === 1;
  const index = (across ? (keys[0] ?? []) : keys.map(([key]) => key)).findIndex((key) => same(key, target));
  if (index === -1) return otherwise;
  return across ? results.map((row) => [row[index]]) : [results[index] ?? []];
}

function unique(table: unknown): unknown {
  const rows = rowsOf(table);
  return rows.filter(
    (row, index) => rows.findIndex((other) => other.every((value, column) => same(value, row[column]))) === index,
  );
}

export function isFunction(name: string): boolean {
  return OWN[name] !== undefined || libraryFunction(name) !== undefined;
}

/** Functions that accept errors as arguments. All others return the first error. */
const TAKES_ERRORS: ReadonlySet<string> = new Set([
  'ISERR',
  'ISTEXT',
  'ISNUMBER',
  'ISLOGICAL',
  'ISNONTEXT',
  'ERROR.TYPE',
  'COUNT',
  'COUNTA',
  'COUNTBLANK',
  'COUNTIF',
  'COUNTIFS',
  'AGGREGATE',
  'TYPE',
  'INDEX',
  'VLOOKUP',
  'HLOOKUP',
  'LOOKUP',
  'XLOOKUP',
  'MATCH',
  'SUMIF',
  'SUMIFS',
  'AVERAGEIF',
  'AVERAGEIFS',
]);

/**
 * Functions with arguments that expect one value: with an area, they are evaluated for each cell. The predicate gets
 * the index of the argument; `true` means all arguments.
 */
const SCALAR_ARGUMENTS: Readonly<Record<string, true | ((index: number) => boolean)>> = {
  ...Object.fromEntries(
    `ABS ACOS ACOSH ASIN ASINH ATAN ATANH ATAN2 CEILING CEILING.MATH CHAR CLEAN CODE COS COSH DATE DATEDIF DATEVALUE DAY
DAYS DEGREES EDATE EOMONTH EVEN EXACT EXP FACT FIND FLOOR FLOOR.MATH HOUR INT ISEVEN ISLOGICAL ISNONTEXT ISNUMBER ISODD
ISOWEEKNUM ISTEXT LEFT LEN LN LOG LOG10 LOWER MID MINUTE MOD MONTH MROUND N NOT NUMBERVALUE ODD POWER PROPER QUOTIENT
RADIANS REPLACE REPT RIGHT ROUND ROUNDDOWN ROUNDUP SEARCH SECOND SIGN SIN SINH SQRT SUBSTITUTE TAN TANH TEXT TIME
TIMEVALUE TRIM TRUNC UPPER VALUE WEEKDAY WEEKNUM YEAR YEARFRAC DEC2HEX`
      .split(/\s+/)
      .map((name) => [name, true as const]),
  ),
  COUNTIF: (index) => index === 1,
  SUMIF: (index) => index === 1,
  AVERAGEIF: (index) => index === 1,
  COUNTIFS: (index) => index % 2 === 1,
  SUMIFS: (index) => index > 0 && index % 2 === 0,
  AVERAGEIFS: (index) => index > 0 && index % 2 === 0,
  MAXIFS: (index) => index > 0 && index % 2 === 0,
  MINIFS: (index) => index > 0 && index % 2 === 0,
  MATCH: (index) => index === 0,
  VLOOKUP: (index) => index !== 1,
  HLOOKUP: (index) => index !== 1,
  XLOOKUP: (index) => index === 0,
  LARGE: (index) => index === 1,
  SMALL: (index) => index === 1,
  'RANK.EQ': (index) => index === 0,
  RANK: (index) => index === 0,
};

const value = (result: Result | undefined): Value => (isTable(result ?? null) ? null : ((result ?? null) as Value));
const number = (result: Result | undefined): number => numeric(value(result));
const numeric = (argument: Value): number =>
  typeof argument === 'string'
    ? (numberOf(argument) ?? Number.NaN)
    : argument instanceof CellError
      ? Number.NaN
      : Number(argument);
const orError = (argument: number | undefined): Value =>
  argument === undefined || Number.isNaN(argument) ? new CellError('#VALUE!') : argument;
const flat = (results: readonly Result[]): Value[] =>
  results.flatMap((result): readonly Value[] => (isTable(result) ? result.flat() : [result]));
const ERRORS = ['#NULL!', '#DIV/0!', '#VALUE!', '#REF!', '#NAME?', '#NUM!', '#N/A'];

/** Functions that the library lacks, or that behave differently there. */
const OWN: Readonly<Record<string, (...args: readonly Result[]) => Result>> = {
  ...CRITERIA,
  TEXT: (argument, format) => {
    const plain = value(argument);
    if (typeof plain === 'boolean') return asText(plain);
    const of = typeof plain === 'string' ? (numberOf(plain) ?? plain) : numeric(plain);
    return formatted(of, asText(value(format))) ?? new CellError('#VALUE!');
  },
  VALUE: (argument) => orError(number(argument)),
  DATEVALUE: (argument) => orError(Math.floor(number(argument))),
  TIMEVALUE: (argument) => orError(number(argument) % 1),
  CONCAT: (...args) => flat(args).map(asText).join(''),
  CONCATENATE: (...args) => flat(args).map(asText).join(''),
  TEXTJOIN: (by, skip, ...args) =>
    flat(args)
      .map(asText)
      .filter((text) => text !== '' || value(skip) === false || value(skip) === 0)
      .join(asText(value(by))),
  LEFT: (argument, count = 1) =>
    number(count) < 0 ? new CellError('#VALUE!') : asText(value(argument)).slice(0, number(count)),
  PROPER: (argument) =>
    asText(value(argument))
      .toLowerCase()
      .replaceAll(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase()),
  SEARCH: (text, within, from = 1) => {
    const whole = asText(value(within));
    const start = number(from) - 1;
    if (!(start >= 0) || start > whole.length) return new CellError('#VALUE!');
    const found = whole.slice(start).search(wildcards(asText(value(text)), false));
    return found === -1 ? new CellError('#VALUE!') : found + start + 1;
  },
  MOD: (argument, by) => {
    const [a, b] = [number(argument), number(by)];
    return b === 0 ? new CellError('#DIV/0!') : orError(a - b * Math.floor(a / b));
  },
  ATAN2: (x, y) =>
    number(x) === 0 && number(y) === 0 ? new CellError('#DIV/0!') : orError(Math.atan2(number(y), number(x))),
  DEC2HEX: (argument) => {
    const whole = Math.trunc(number(argument));
    return Number.isNaN(whole)
      ? new CellError('#VALUE!')
      : (whole < 0 ? whole + 2 ** 40 : whole).toString(16).toUpperCase();
  },
  SUMPRODUCT: (...args) => {
    const product = mapTables(args, (values) =>
      values.reduce((all: number, one) => all * (typeof one === 'number' ? one : 0), 1),
    );
    const sizes = new Set(args.map((arg) => (isTable(arg) ? `${arg.length} ${arg[0]?.length ?? 0}` : '1 1')));
    return sizes.size > 1
      ? new CellError('#VALUE!')
      : flat([product]).reduce((sum: number, one) => sum + Number(one), 0);
  },
  NORMSDIST: (argument) => callFunction('NORM.S.DIST', [argument ?? null, true]),
  'FORECAST.LINEAR': (...args) => callFunction('FORECAST', args),
  'ERROR.TYPE': (argument) => {
    const error = value(argument);
    const index = error instanceof CellError ? ERRORS.indexOf(error.name) : -1;
    return index === -1 ? new CellError('#N/A') : index + 1;
  },
};

/** Days from the sheet epoch to the JavaScript epoch. */
const EPOCH_DAYS = 25_569;
const DAY_MS = 86_400_000;

export function callFunction(name: string, args: readonly Result[]): Result {
  const where = SCALAR_ARGUMENTS[name];
  const areas = args.flatMap((arg, index) => (isTable(arg) && (where === true || where?.(index)) ? [index] : []));
  if (areas.length > 0)
    return mapTables(
      areas.map((index) => args[index] ?? null),
      (values) => {
        const found = callFunction(
          name,
          args.map((arg, index) => (areas.includes(index) ? (values[areas.indexOf(index)] ?? null) : arg)),
        );
        return isTable(found) ? (found[0]?.[0] ?? null) : found;
      },
    );
  if (!TAKES_ERRORS.has(name)) {
    const wrong = args.flat(2).find((value) => value instanceof CellError);
    if (wrong !== undefined) return wrong;
  }
  const own = OWN[name];
  if (own !== undefined) return own(...args);
  const fn = libraryFunction(name);
  if (fn === undefined) return new CellError('#NAME?');
  try {
    return converted(
      fn(
        ...args.map((arg) =>
          Array.isArray(arg) ? arg.map((row: readonly Value[]) => row.map(libraryValue)) : libraryValue(arg as Value),
        ),
      ),
    );
  } catch (error) {
    return errorValue(error);
  }
}

/** Converts errors to those of the library. */
function libraryValue(value: Value): unknown {
  return value instanceof CellError ? new Error(value.name) : value;
}

function converted(value: unknown): Result {
  if (Array.isArray(value)) return value.map((row: unknown) => (Array.isArray(row) ? row.map(one) : [one(row)]));
  return one(value);
}

function one(value: unknown): Value {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? value : new CellError('#NUM!');
    case 'string':
    case 'boolean':
      return value;
    default:
      if (value instanceof Error) return errorValue(value);
      // Dates are numbers of days in a sheet; the library creates them in local time.
      if (value instanceof Date) return (value.getTime() - value.getTimezoneOffset() * 60_000) / DAY_MS + EPOCH_DAYS;
      return value === null || value === undefined ? null : new CellError('#VALUE!');
  }
}

function errorValue(error: unknown): CellError {
  const name = error instanceof Error ? error.message : '';
  return new CellError(/^#[A-Z0-9/?!]+$/.test(name) ? name : '#VALUE!');
}
