/** `stop.rollout`: a condition in CEL over what a rollout has used and done so far, which ends it. */
import { StudioError } from '../../common/errors.ts';
import { canonicalJson, type Json } from '../../common/json.ts';
import type { Usage } from '../schema.ts';
import { type CelProgram, celError, compileCel } from './cel.ts';
import type { Vocabulary } from './vocabulary.ts';

/** What the condition knows of a running rollout, with the events that a fork shares. Side models do not count. */
export interface RunningValues {
  /** Number of steps. */
  readonly steps: number;
  /** Number of tool calls that have ended. */
  readonly calls: number;
  /** How often an agent made its newest tool call before, in a row and with the same arguments; 0 for another call. */
  readonly repeats: number;
  /** Number of tool calls that failed. */
  readonly errors: number;
  /** Milliseconds, without holds and waits for endpoints, as for `limits.seconds`. */
  readonly ms: number;
  readonly usage: { readonly tokens: number; readonly input_tokens: number; readonly output_tokens: number };
}

const USAGE = ['tokens', 'input_tokens', 'output_tokens'] as const satisfies readonly (keyof RunningValues['usage'])[];

/** The variables of `stop.rollout`. */
const OF_RUNNING: Vocabulary = {
  variables: {
    steps: 'double',
    calls: 'double',
    repeats: 'double',
    errors: 'double',
    ms: 'double',
    usage: 'map',
  } satisfies Record<keyof RunningValues, 'double' | 'map'>,
  example: 'repeats > 3 || usage.tokens > 50000',
  fieldsOf: (name) => (name === 'usage' ? USAGE : undefined),
};

export interface StopCondition {
  readonly text: string;
  /** Whether it is true. What cannot be evaluated is not. */
  test(values: RunningValues): boolean;
}

/** Compiles a condition. Throws StudioError `usage`, with the column in `details`. */
export function compileStop(text: string): StopCondition {
  const compiled = compileCel(text, OF_RUNNING);
  if (!compiled.ok) throw celError(compiled.problem, OF_RUNNING);
  const { program } = compiled;
  const problem = problemOf(program);
  if (problem !== undefined)
    throw new StudioError('usage', problem, {
      hint: 'Compare a value with a number, for example repeats > 3.',
      details: { column: 1, length: text.length },
    });
  return {
    text: text.trim(),
    test: (values) => {
      const result = program.run(values);
      return result.ok && result.value === true;
    },
  };
}

function problemOf({ type, variables }: CelProgram): string | undefined {
  if (type !== 'bool' && type !== 'dyn') return `The expression evaluates to ${type}, not to true or false.`;
  return variables.size === 0
    ? 'The expression is the same for every rollout, because it uses no variable.'
    : undefined;
}

/** Counts what a rollout did, as its agents do it: the same again when the rollout is resumed. */
export class RunningCounter {
  #calls = 0;
  #errors = 0;
  #input = 0;
  #output = 0;
  /** The newest call of each agent, and how often it was made before, in a row. By instance path. */
  readonly #newest = new Map<string, { readonly key: string; repeats: number }>();

  addUsage(usage: Pick<Usage, 'input_tokens' | 'output_tokens'>): void {
    this.#input += usage.input_tokens;
    this.#output += usage.output_tokens;
  }

  /** `agent`: instance path. */
  addCall(agent: string, name: string, args: Json, failed: boolean): void {
    this.#calls += 1;
    if (failed) this.#errors += 1;
    const key = canonicalJson([name, args]);
    const newest = this.#newest.get(agent);
    if (newest?.key === key) newest.repeats += 1;
    else this.#newest.set(agent, { key, repeats: 0 });
  }

  get tokens(): number {
    return this.#input + this.#output;
  }

  /** Several agents at once: `repeats` is the largest of theirs. */
  values(steps: number, ms: number): RunningValues {
    return {
      steps,
      calls: this.#calls,
      repeats: Math.max(0, ...Array.from(this.#newest.values(), ({ repeats }) => repeats)),
      errors: this.#errors,
      ms,
      usage: { tokens: this.tokens, input_tokens: this.#input, output_tokens: this.#output },
    };
  }
}
