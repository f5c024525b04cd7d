/** Compares two trajectories turn by turn. */
import { z } from 'zod';
import { oneLine } from '../../common/text.ts';
import { type Action, type ActionCall, actionsOf } from '../../trace/align/actions.ts';
import { callDifferences, type Difference, sameResults } from '../../trace/align/differences.ts';
import { sourcesText } from '../../trace/align/label.ts';
import { pairwise } from '../../trace/align/pairwise.ts';
import { type Split, splitOf } from '../../trace/align/split.ts';
import type { TrajectoryModel } from '../../trace/model.ts';
import { valueText } from '../../trace/text/values.ts';

const MAX_VALUE = 300;
const MAX_TEXT = 600;
const MAX_CALLS = 12;
const MAX_DIFFERENCES = 12;

export const turnShape = z.object({
  step: z.number().int(),
  agent: z.string().optional(),
  calls: z.array(z.string()).describe('Tool, arguments, and result, shortened if long; read_call returns them in full'),
  text: z.string().optional().describe('Text that the model wrote with or instead of calls'),
});
export const rowShape = z.object({
  what: z
    .enum(['same', 'other words', 'other arguments', 'other', 'only a', 'only b'])
    .describe('other words: both made no calls, but wrote different text'),
  a: turnShape.optional(),
  b: turnShape.optional(),
  differences: z.array(z.string()).describe('For the same tools: differing arguments and results, as `a → b`'),
});
export type Turn = z.infer<typeof turnShape>;
export type Row = z.infer<typeof rowShape>;

export interface Comparison {
  /** undefined if both are the same from start to end. */
  readonly split: Split | undefined;
  /** Number of identical turns at the start. */
  readonly common: number;
  /** Step of `a` for the first of those turns whose results differ. */
  readonly otherResult: number | undefined;
  /** The aligned turns. */
  readonly rows: number;
  readonly row: (index: number) => Row;
}

export function compare(modelA: TrajectoryModel, modelB: TrajectoryModel): Comparison {
  const [a, b] = [actionsOf(modelA), actionsOf(modelB)];
  const pairs = pairwise(a, b);
  const split = splitOf(a, b, pairs);
  const common = split?.common ?? a.length;
  const otherResult = a.slice(0, common).find((action, index) => {
    const other = b[index];
    return other !== undefined && !sameResults(action, other);
  });
  return {
    split,
    common,
    otherResult: otherResult?.step,
    rows: pairs.length,
    row: (index) => {
      const pair = pairs[index];
      return rowOf(pair?.a === undefined ? undefined : a[pair.a], pair?.b === undefined ? undefined : b[pair.b]);
    },
  };
}

function rowOf(a: Action | undefined, b: Action | undefined): Row {
  if (a === undefined || b === undefined) {
    return {
      what: b === undefined ? 'only a' : 'only b',
      ...(a === undefined ? {} : { a: turnOf(a) }),
      ...(b === undefined ? {} : { b: turnOf(b) }),
      differences: [],
    };
  }
  const differences = callDifferences(a, b).flatMap((call) => [
    ...call.arguments.map((one) => differenceText(call.name, 'arguments', one)),
    ...call.result.map((one) =>
      differenceText(call.name, `result${sourcesText(a.calls[call.call], b.calls[call.call])}`, one),
    ),
  ]);
  const listed =
    differences.length <= MAX_DIFFERENCES
      ? differences
      : [...differences.slice(0, MAX_DIFFERENCES), `and ${differences.length - MAX_DIFFERENCES} more`];
  return { what: whatOf(a, b), a: turnOf(a), b: turnOf(b), differences: listed };
}

function whatOf(a: Action, b: Action): Row['what'] {
  if (a.key !== b.key) return a.shape === b.shape ? 'other arguments' : 'other';
  return a.kind === 'text' && a.text !== b.text ? 'other words' : 'same';
}

function differenceText(tool: string, of: string, { path, before, after }: Difference): string {
  const short = (value: Difference['before']): string =>
    value === undefined
      ? 'nothing'
      : oneLine(typeof value === 'string' ? JSON.stringify(value) : valueText(value), MAX_VALUE);
  return `${tool} ${of}${path}: ${short(before)} → ${short(after)}`;
}

export function turnOf(action: Action): Turn {
  const calls = action.calls.slice(0, MAX_CALLS).map(callText);
  if (action.calls.length > MAX_CALLS) calls.push(`and ${action.calls.length - MAX_CALLS} more`);
  return {
    step: action.step,
    ...(action.agent === '' ? {} : { agent: action.agent }),
    calls,
    ...(action.text === '' ? {} : { text: oneLine(action.text, MAX_TEXT) }),
  };
}

function callText(call: ActionCall): string {
  // The rule is named.
  const from = (call.provenance ?? []).filter((of) => of !== 'injected').join(', ');
  const result =
    call.result === undefined
      ? ''
      : ` ← ${from === '' ? '' : `(${from}) `}${oneLine(valueText(call.result), MAX_VALUE)}`;
  return (
    `${call.name} ` +
    `${oneLine(valueText(call.arguments), MAX_VALUE)}${call.error === undefined ? '' : ` ✗ ${call.error}`}` +
    `${call.injected === undefined ? '' : ` (rule ${call.injected})`}${result}`
  );
}
