/** Checks of the rules of a world beyond their schema: names, conditions, and modules. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { compileCondition, type Query } from '../../trace/query.ts';
import type { PerturbRule } from '../schema/perturbSection.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import type { Problem } from '../source/problem.ts';
import type { Reading } from './reading.ts';
import { MODULE_ENDINGS } from './tools.ts';

/** What is known before a call is made. */
export const VARIABLES: ReadonlySet<string> = new Set(['tool', 'step', 'agent', 'task', 'attempt']);
/** What is known after it. */
const AFTER: ReadonlySet<string> = new Set(['observation', ...VARIABLES]);

/** Where an error is in a condition, from 1. */
const columns = z.object({ column: z.number(), length: z.number() });

/** Reports problems of rules. `isSimulated`: a model plays the world. */
export async function checkRules(
  reading: Reading,
  parsed: ParsedFile,
  rules: readonly PerturbRule[],
  isSimulated: boolean,
): Promise<void> {
  const names = new Set<string>();
  for (const [index, rule] of rules.entries()) {
    const at: Path = ['perturb', index];
    if (names.has(rule.name))
      reading.report(parsed, [...at, 'name'], {
        code: 'conflict',
        message: `two rules are named \`${rule.name}\``,
        hint: 'Rename one of them: trajectories and reports name the rule of each injected fault.',
      });
    names.add(rule.name);
    if (rule.when !== undefined) checkCondition(reading, parsed, [...at, 'when'], rule.when, VARIABLES);
    if (rule.check !== undefined) checkCondition(reading, parsed, [...at, 'check'], rule.check, AFTER);
    if (rule.say !== undefined && !isSimulated)
      reading.report(parsed, [...at, 'say'], {
        code: 'conflict',
        message: '`say` is for worlds that a model plays, and no model plays this one',
        hint: 'Use an `effect`, or `kind: simulated`.',
        fixes: [{ do: 'remove', path: [...at, 'say'] }],
      });
    if (rule.module !== undefined) await reading.locate(parsed, [...at, 'module'], rule.module, MODULE_ENDINGS);
  }
}

/** Reports problems of the condition of a rule, or of a shadow: see `known`. */
export function checkCondition(
  reading: Reading,
  parsed: ParsedFile,
  at: Path,
  text: string,
  known: ReadonlySet<string>,
): void {
  let query: Query;
  try {
    query = compileCondition(text);
  } catch (error) {
    if (!StudioError.is(error)) throw error;
    reportExpression(reading, parsed, at, text, error);
    return;
  }
  const late = [...query.variables].filter((name) => !known.has(name));
  if (late.length === 0) return;
  reading.report(parsed, at, {
    code: 'value',
    message:
      known === VARIABLES
        ? `${at[0] === 'shadow' ? 'a prediction is made' : 'a rule is decided'} before the call, when ` +
          `${late.map((name) => `\`${name}\``).join(', ')} cannot be used`
        : `a check cannot use ${late.map((name) => `\`${name}\``).join(', ')}`,
    hint: `Use ${[...known].join(', ')}.`,
  });
}

/** Reports the error of an expression that does not compile, where it is in the file. */
export function reportExpression(
  reading: Reading,
  parsed: ParsedFile,
  at: Path,
  text: string,
  error: StudioError,
): void {
  const { column, length } = columns.parse(error.details);
  const message = error.message.replace(/^Column \d+: /, '').replace(/\.$/, '');
  reading.add(parsed, {
    ...parsed.problem(at, {
      code: 'value',
      message: `column ${column} of \`${String(at.at(-1))}\`: ${message}`,
      hint: error.hint ?? 'Write a CEL expression, such as tool.name == "renew_loan".',
    }),
    ...rangeOfPart(parsed, at, text, column, length),
  });
}

/**
 * Returns where a part of a text is in the file; nothing for a text that is not written as it is, such as one with
 * escapes.
 */
export function rangeOfPart(
  parsed: ParsedFile,
  at: Path,
  text: string,
  column: number,
  length: number,
): Partial<Pick<Problem, 'line' | 'column' | 'endLine' | 'endColumn'>> {
  const { line, column: start } = parsed.valueRange(at);
  const source = parsed.text.split('\n', line)[line - 1]?.slice(start - 1) ?? '';
  const quote = source.startsWith(text) ? 0 : /^["']/.test(source) && source.startsWith(text, 1) ? 1 : undefined;
  if (quote === undefined) return {};
  const from = start + quote + column - 1;
  return { line, column: from, endLine: line, endColumn: from + length };
}
