/** What a verdict says: the values that a failed check expected, and what differs where attempts diverge. */
import { isJsonObject } from '../../../src/common/json.ts';
import { differencesOf } from '../../../src/trace/align/differences.ts';
import { checkRows, checksOf, checkText } from '../../../src/trace/checkRows.ts';
import type { EventData } from '../../../src/trace/schema.ts';
import type { Split } from '../../data/split.ts';
import { type DiffSpan, inlineDiff } from '../../values/inlineDiff.ts';

export interface Expectation {
  /** Index of the check. */
  readonly check: number;
  readonly name: string;
  readonly fields: readonly { readonly name?: string; readonly expected: DiffSpan[]; readonly actual?: DiffSpan[] }[];
}

/** Returns the failed checks that say what was expected, in the order of the list. */
export function expectations(score: EventData['score']): Expectation[] {
  const rows = checkRows(checksOf(score)).filter(({ passed, expected }) => passed === false && expected !== undefined);
  return [...Map.groupBy(rows, ({ check }) => check)].map(([check, fields]) => ({
    check,
    name: fields[0]?.name ?? '',
    fields: fields.map(({ field, expected = '', actual }) => {
      const spans = actual === undefined ? undefined : inlineDiff(expected, actual);
      return {
        ...(field === undefined ? {} : { name: field }),
        expected: spans?.before ?? [{ text: expected, differs: true }],
        ...(spans === undefined ? {} : { actual: spans.after }),
      };
    }),
  }));
}

/** Returns the explanation of a score without the sentence that the cause repeats; undefined if nothing is left. */
export function explanationAfter(cause: string, explanation: string | undefined): string | undefined {
  if (explanation === undefined) return undefined;
  const start = cause.replace(/…$/, '');
  const shortened = start !== cause;
  const rest = explanation.startsWith(start) && !shortened ? explanation.slice(start.length) : explanation;
  return rest.replace(/^[.\s]+/, '') || undefined;
}

export interface ArgumentDifference {
  /** Empty for the arguments as a whole. */
  readonly name: string;
  /** Absent where the attempt has no such argument. */
  readonly own?: DiffSpan[];
  readonly other?: DiffSpan[];
}

/** Arguments shown in a verdict. */
const MAX_ARGUMENTS = 3;

/** Returns what differs in the call at a divergence: its arguments, or undefined for another tool or no call. */
export function argumentDifferences({ call, otherCall }: Split): ArgumentDifference[] | undefined {
  if (call === undefined || otherCall === undefined || call.data.name !== otherCall.data.name) return undefined;
  const [own, other] = [call.data.arguments, otherCall.data.arguments];
  const whole = isJsonObject(own) && isJsonObject(other);
  const differences = whole
    ? [...new Set([...Object.keys(own), ...Object.keys(other)])].flatMap((name) =>
        differencesOf(own[name], other[name]).length === 0 ? [] : [{ name, before: own[name], after: other[name] }],
      )
    : [{ name: '', before: own, after: other }];
  return differences.slice(0, MAX_ARGUMENTS).map(({ name, before, after }) => {
    const [a, b] = [before, after].map((value) => (value === undefined ? undefined : checkText(value)));
    if (a !== undefined && b !== undefined) {
      const spans = inlineDiff(a, b);
      return { name, own: spans.before, other: spans.after };
    }
    return {
      name,
      ...(a === undefined ? {} : { own: [{ text: a, differs: true }] }),
      ...(b === undefined ? {} : { other: [{ text: b, differs: true }] }),
    };
  });
}
