/** Filters of groups: a condition in CEL over the members that count, which a group for a trainer must meet. */
import { StudioError } from '../../common/errors.ts';
import { type CelProgram, celError, compileCel } from '../query/cel.ts';
import type { Vocabulary } from '../query/vocabulary.ts';
import type { SplitReason } from '../segments/splitReason.ts';
import type { RolloutRow } from '../summary.ts';
import { mean, spread } from './spread.ts';

/** What a filter knows of a group. Shares are from 0 to 1, of the members that count. */
export interface GroupValues {
  /** Number of members. */
  readonly size: number;
  /** Of the rewards; the sample standard deviation (ddof 1) is exactly 0 if they are equal. */
  readonly mean: number;
  readonly spread: number;
  readonly passed: number;
  /** Members that a limit or a rule cut off, also if they passed. */
  readonly truncated: number;
  /** Members whose trajectory equals that of another one, by the fingerprints of `--distinct`. */
  readonly duplicates: number;
  /** Members with a segment that begins because the template wrote earlier messages as other tokens. */
  readonly drift: number;
  /** Members of which one scorer says that they passed, and another one that they did not. */
  readonly disagreement: number;
  /** Tokens of all members: prompts and responses of the agents. */
  readonly tokens: number;
}

export const GROUP_VARIABLES = [
  'size',
  'mean',
  'spread',
  'passed',
  'truncated',
  'duplicates',
  'drift',
  'disagreement',
  'tokens',
] as const satisfies readonly (keyof GroupValues)[];

const OF_GROUPS: Vocabulary = {
  variables: Object.fromEntries(GROUP_VARIABLES.map((name) => [name, 'double'] as const)),
  example: 'spread > 0 && truncated < 0.5',
  fieldsOf: () => undefined,
};

/** What a filter says about a group. `why`: why it is left out. */
export type FilterResult = { readonly ok: true } | { readonly ok: false; readonly why: string };

export interface GroupFilter {
  /** Whether it uses `drift`, for which the tokens of all members must be read. */
  readonly needsDrift: boolean;
  test(values: GroupValues): FilterResult;
}

/** Compiles a filter. Throws StudioError `usage`, with the column in `details`. */
export function compileFilter(text: string): GroupFilter {
  const compiled = compileCel(text, OF_GROUPS);
  if (!compiled.ok) throw celError(compiled.problem, OF_GROUPS);
  const { program } = compiled;
  if (program.type !== 'bool')
    throw new StudioError('usage', `The filter evaluates to ${program.type}, not to true or false.`, {
      hint: 'Compare it with a value, for example spread > 0.',
      details: { column: 1, length: text.length },
    });
  return { needsDrift: program.variables.has('drift'), test: (values) => tested(text, program, values) };
}

function tested(text: string, program: CelProgram, values: GroupValues): FilterResult {
  const result = program.run(values);
  if (!result.ok) return { ok: false, why: `The filter ${text} could not be evaluated: ${result.why}.` };
  if (result.value === true) return { ok: true };
  const used = GROUP_VARIABLES.filter((name) => program.variables.has(name));
  const is = used.map((name) => `${name} is ${shown(values[name])}`).join(', ');
  return { ok: false, why: `The filter ${text} is false${is === '' ? '' : `: ${is}`}.` };
}

function shown(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4));
}

/** Reasons of segments that are about tokens: nobody changed the messages. */
export const DRIFT_REASONS: ReadonlySet<SplitReason> = new Set(['unparsed', 'reasoning', 'arguments', 'tokens']);

/** Returns the values of a group. `members`: those that count, at least one. `drifted`: how many of them drifted. */
export function groupValues(members: readonly RolloutRow[], drifted = 0): GroupValues {
  const rewards = members.map(({ progress }) => progress.reward ?? 0); // those that count have one
  const [low, high] = [Math.min(...rewards), Math.max(...rewards)];
  const fingerprints = new Map<string, number>();
  for (const { progress } of members)
    if (progress.fingerprint !== undefined)
      fingerprints.set(progress.fingerprint, (fingerprints.get(progress.fingerprint) ?? 0) + 1);
  const share = (test: (row: RolloutRow) => boolean): number => members.filter(test).length / members.length;
  return {
    size: members.length,
    // The mean of equal rewards can differ from them in the last bit.
    mean: low === high ? low : mean(rewards),
    spread: low === high ? 0 : spread(rewards),
    passed: share(({ progress }) => progress.passed === true),
    truncated: share(({ progress }) => progress.status === 'truncated'),
    duplicates: share(({ progress }) => (fingerprints.get(progress.fingerprint ?? '') ?? 0) > 1),
    drift: drifted / members.length,
    disagreement: share(isDisputed),
    tokens: tokensOf(members),
  };
}

function isDisputed({ progress }: RolloutRow): boolean {
  const all = [progress.passed, ...Object.values(progress.verdicts ?? {}).map(({ passed }) => passed)];
  return all.includes(true) && all.includes(false);
}

/** Returns the tokens of rollouts: prompts and responses of the agents. */
export function tokensOf(rows: readonly RolloutRow[]): number {
  return rows.reduce((sum, { progress }) => sum + progress.input_tokens + progress.output_tokens, 0);
}
