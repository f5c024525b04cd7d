/** CEL over the vocabulary: compiled once, checked as far as can be before it runs, and bounded in what it may cost. */
import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { StudioError } from '../../common/errors.ts';
import { isComprehension, matches, metered, operands, startBudget, withLimits } from './cost.ts';
import { fieldsOf, isVariable, type QueryEnvironment, VARIABLES } from './vocabulary.ts';

/** Characters of an expression. */
const MAX_LENGTH = 2_000;
const LIMITS = { maxAstNodes: 500, maxDepth: 40, maxListElements: 200, maxMapEntries: 100 };

export interface CelProgram {
  /** Its CEL type as far as it is known: bool, string, …, dyn. */
  readonly type: string;
  /** Whether it names a variable of the vocabulary in more than its own bare name. */
  readonly aboutSomething: boolean;
  run(environment: QueryEnvironment): CelResult;
  /**
   * The records without which it cannot be true, each with a field it looks at: asking whether they are empty is much
   * cheaper than an evaluation that fails, which is what most events of a trajectory would come to.
   */
  readonly needs: readonly { readonly record: 'tool' | 'message'; readonly field: string }[];
}

type CelResult = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly why: string };

/** Column and length count UTF-16 units; the column from 1. */
interface CelProblem {
  readonly message: string;
  readonly column: number;
  readonly length: number;
}

export type Compiled =
  | { readonly ok: true; readonly program: CelProgram }
  | { readonly ok: false; readonly problem: CelProblem };

/** JSON does not tell 1 from 1.0, so its numbers are doubles here and must go together with whole ones. */
const MIXED = {
  '+': (a: number | bigint, b: number | bigint) => Number(a) + Number(b),
  '-': (a: number | bigint, b: number | bigint) => Number(a) - Number(b),
  '*': (a: number | bigint, b: number | bigint) => Number(a) * Number(b),
  '/': (a: number | bigint, b: number | bigint) => Number(a) / Number(b),
  '%': (a: number | bigint, b: number | bigint) => Number(a) % Number(b),
} as const;

let shared: Environment | undefined;

export function compileCel(text: string): Compiled {
  if (text.length > MAX_LENGTH) {
    return {
      ok: false,
      problem: {
        message: `it is longer than ${MAX_LENGTH} characters`,
        column: MAX_LENGTH + 1,
        length: text.length - MAX_LENGTH,
      },
    };
  }
  shared ??= createEnvironment();
  try {
    const parsed = shared.parse(text);
    const problem = wrongField(parsed.ast, new Set(loopVariables(parsed.ast))) ?? badPattern(parsed.ast);
    if (problem !== undefined) return { ok: false, problem };
    const check = parsed.check();
    if (!check.valid) return { ok: false, problem: problemOf(check.error, text) };
    const limited = shared.parse(withLimits(text, parsed.ast));
    return {
      ok: true,
      program: {
        type: check.type ?? 'dyn',
        aboutSomething: parsed.ast.op !== 'id' && namesVariable(parsed.ast),
        run: (environment) => run(limited, environment),
        needs: needsOf(parsed.ast),
      },
    };
  } catch (error) {
    return { ok: false, problem: problemOf(error, text) };
  }
}

/** The error people get for a broken expression. `details` has column and length. */
export function celError(text: string, problem: CelProblem): StudioError {
  return new StudioError(
    'usage',
    `Error in the expression \`${text}\` at column ${problem.column}: ${problem.message}.`,
    {
      hint:
        `Write a CEL expression over ${Object.keys(VARIABLES).join(', ')}, such as ` +
        `tool.name == "search" && tool.ms > 500.`,
      details: { column: problem.column, length: problem.length },
    },
  );
}

function createEnvironment(): Environment {
  const environment = new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS });
  for (const [name, type] of Object.entries(VARIABLES)) environment.registerVariable(name, type);
  environment.registerFunction('string.matches_(string): bool', matches);
  environment.registerFunction('metered_(dyn): dyn', metered);
  for (const [operator, handler] of Object.entries(MIXED)) {
    environment.registerOperator(`double ${operator} int: double`, handler);
    environment.registerOperator(`int ${operator} double: double`, handler);
  }
  environment.registerOperator('double % double', MIXED['%']);
  // and with it its mirror and both !=
  environment.registerOperator('double == int', (a: number, b: bigint) => a === Number(b));
  return environment;
}

function run(parsed: (context: QueryEnvironment) => unknown, environment: QueryEnvironment): CelResult {
  startBudget();
  try {
    return { ok: true, value: parsed(environment) };
  } catch (error) {
    return { ok: false, why: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const summary = 'summary' in error && typeof error.summary === 'string' ? error.summary : error.message;
  const missing = /^No such key: (.*)$/s.exec(summary)?.[1];
  if (missing !== undefined) return `there is no "${missing}" here`;
  return summary.replace(
    /^no such overload: (.*)$/,
    (_, operation: string) => `${operation.replaceAll(/dyn<(\w+)>/g, '$1')} is not supported`,
  );
}

function problemOf(error: unknown, text: string): CelProblem {
  const range = typeof error === 'object' && error !== null && 'range' in error ? error.range : undefined;
  const { start, end } = isRange(range) ? range : { start: 0, end: text.length };
  return {
    message: hinted(reasonOf(error), text, start),
    column: Math.min(start, text.length) + 1,
    length: Math.max(1, Math.min(end, text.length) - start),
  };
}

function isRange(value: unknown): value is { start: number; end: number } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'start' in value &&
    typeof value.start === 'number' &&
    'end' in value &&
    typeof value.end === 'number'
  );
}

/** What is often meant by what is not CEL. */
function hinted(message: string, text: string, at: number): string {
  if (message === 'Unexpected character: =') return 'a single "="; to compare, write "=="';
  if (/^Unexpected token: EOF|, got EOF$/.test(message)) return 'the expression is incomplete';
  const record = /^map<.*> (==|!=) (string|null|int|double|bool) is not supported$/.exec(message);
  if (record !== null) {
    const name = /^\w+/.exec(text.slice(at))?.[0] ?? '';
    const fields = fieldsOf(name);
    if (fields !== undefined) return `${name} is an object; compare one of its fields: ${fields.join(', ')}`;
  }
  return message.replace(/^Unknown variable: (.*)$/, 'there is no variable "$1"');
}

/** The first field of a record of the vocabulary that it does not have. */
function wrongField(node: ASTNode, shadowed: ReadonlySet<string>): CelProblem | undefined {
  if (node.op === '.') {
    const [owner, field] = node.args;
    if (owner.op === 'id' && !shadowed.has(owner.args)) {
      const fields = fieldsOf(owner.args);
      if (fields !== undefined && !fields.includes(field)) {
        return {
          message: `${owner.args} has no "${field}"; it has ${fields.join(', ')}`,
          column: owner.range.end + 2,
          length: field.length,
        };
      }
    }
  }
  for (const operand of operands(node)) {
    const problem = wrongField(operand, shadowed);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * In a conjunction every part must be true, and a part that looks into an empty record is not, unless it asks `has`,
 * branches or loops. Inside anything else (a negation, say) a conjunction may well be false without looking.
 */
function needsOf(node: ASTNode, conjunction = true): CelProgram['needs'] {
  if (node.op === '&&') return conjunction ? operands(node).flatMap((operand) => needsOf(operand)) : [];
  if (node.op === '||' || node.op === '?:' || node.op === 'call' || isComprehension(node)) return [];
  if (node.op === '.') {
    const [owner, field] = node.args;
    if (owner.op === 'id' && (owner.args === 'tool' || owner.args === 'message'))
      return [{ record: owner.args, field }];
  }
  return operands(node).flatMap((operand) => needsOf(operand, false));
}

/** A regular expression written out in the text is checked before anything runs. */
function badPattern(node: ASTNode): CelProblem | undefined {
  if (node.op === 'rcall' && node.args[0] === 'matches') {
    const [pattern] = node.args[2];
    if (pattern?.op === 'value' && typeof pattern.args === 'string') {
      try {
        matches('', pattern.args);
      } catch (error) {
        return {
          message: reasonOf(error),
          column: pattern.range.start + 1,
          length: pattern.range.end - pattern.range.start,
        };
      }
    }
  }
  for (const operand of operands(node)) {
    const problem = badPattern(operand);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function loopVariables(node: ASTNode): string[] {
  const own =
    node.op === 'rcall' && isComprehension(node)
      ? node.args[2].slice(0, 1).flatMap((first) => (first.op === 'id' ? [first.args] : []))
      : [];
  return [...own, ...operands(node).flatMap(loopVariables)];
}

function namesVariable(node: ASTNode): boolean {
  return (node.op === 'id' && isVariable(node.args)) || operands(node).some(namesVariable);
}
