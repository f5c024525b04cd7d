/** Compiles CEL expressions over the vocabulary, with early checks and limits on their cost. */
import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { StudioError } from '../../common/errors.ts';
import { isComprehension, matches, metered, operands, startBudget, withLimits } from './cost.ts';
import { OF_EVENTS, type Vocabulary } from './vocabulary.ts';

/** In characters. */
const MAX_LENGTH = 2_000;
const LIMITS = { maxAstNodes: 500, maxDepth: 40, maxListElements: 200, maxMapEntries: 100 };

export interface CelProgram {
  /** Its CEL type: bool, string, …; dyn if it is not known before evaluation. */
  readonly type: string;
  /** Whether it uses a variable and is more than the variable's name. */
  readonly hasVariable: boolean;
  /** `environment`: the variables of its vocabulary. */
  run(environment: object): CelResult;
  /**
   * The records that must not be empty for it to be true, each with a field that it uses. Checking them first is much
   * cheaper than an evaluation that fails, which it would for most events of a trajectory.
   */
  readonly needs: readonly { readonly record: 'tool' | 'message'; readonly field: string }[];
  /** The variables that it uses. */
  readonly variables: ReadonlySet<string>;
  /** Names that it compares with `tool.name`. */
  readonly toolNames: readonly TextInQuery[];
}

/** A text in a query. Column (from 1) and length, with its quotes, are in UTF-16 units. */
export interface TextInQuery {
  readonly text: string;
  readonly column: number;
  readonly length: number;
}

type CelResult = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly why: string };

/** Column (from 1) and length are in UTF-16 units. */
interface CelProblem {
  readonly message: string;
  readonly column: number;
  readonly length: number;
}

export type CompileResult =
  | { readonly ok: true; readonly program: CelProgram }
  | { readonly ok: false; readonly problem: CelProblem };

/** Numbers from JSON are doubles in CEL, so operators must accept doubles together with integers. */
const MIXED = {
  '+': (a: number | bigint, b: number | bigint) => Number(a) + Number(b),
  '-': (a: number | bigint, b: number | bigint) => Number(a) - Number(b),
  '*': (a: number | bigint, b: number | bigint) => Number(a) * Number(b),
  '/': (a: number | bigint, b: number | bigint) => Number(a) / Number(b),
  '%': (a: number | bigint, b: number | bigint) => Number(a) % Number(b),
} as const;

const environments = new Map<Vocabulary, Environment>();

export function compileCel(text: string, vocabulary = OF_EVENTS): CompileResult {
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
  let shared = environments.get(vocabulary);
  if (shared === undefined) environments.set(vocabulary, (shared = createEnvironment(vocabulary)));
  try {
    const parsed = shared.parse(text);
    const problem = wrongField(parsed.ast, new Set(loopVariables(parsed.ast)), vocabulary) ?? badPattern(parsed.ast);
    if (problem !== undefined) return { ok: false, problem };
    const check = parsed.check();
    if (!check.valid) return { ok: false, problem: problemOf(check.error, text, vocabulary) };
    const limited = shared.parse(withLimits(text, parsed.ast));
    return {
      ok: true,
      program: {
        type: check.type ?? 'dyn',
        hasVariable: parsed.ast.op !== 'id' && namesVariable(parsed.ast, vocabulary),
        run: (environment) => run(limited, environment),
        needs: needsOf(parsed.ast),
        variables: new Set(variablesIn(parsed.ast, new Set(loopVariables(parsed.ast)), vocabulary)),
        toolNames: comparedNames(parsed.ast),
      },
    };
  } catch (error) {
    return { ok: false, problem: problemOf(error, text, vocabulary) };
  }
}

/** Returns the error for an invalid expression: the reason and its column. `details` has column and length. */
export function celError({ message, column, length }: CelProblem, vocabulary = OF_EVENTS): StudioError {
  return new StudioError('usage', `Column ${column}: ${message}.`, {
    hint: `Write a CEL expression over ${Object.keys(vocabulary.variables).join(', ')}, such as ${vocabulary.example}.`,
    details: { column, length },
  });
}

function createEnvironment({ variables }: Vocabulary): Environment {
  const environment = new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS });
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type);
  environment.registerFunction('string.matches_(string): bool', matches);
  environment.registerFunction('metered_(dyn): dyn', metered);
  for (const [operator, handler] of Object.entries(MIXED)) {
    environment.registerOperator(`double ${operator} int: double`, handler);
    environment.registerOperator(`int ${operator} double: double`, handler);
  }
  environment.registerOperator('double % double', MIXED['%']);
  // This also defines int == double, and != for both.
  environment.registerOperator('double == int', (a: number, b: bigint) => a === Number(b));
  return environment;
}

function run(parsed: (context: Record<string, unknown>) => unknown, environment: object): CelResult {
  startBudget();
  try {
    return { ok: true, value: parsed(environment as Record<string, unknown>) };
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

function problemOf(error: unknown, text: string, vocabulary: Vocabulary): CelProblem {
  const range = typeof error === 'object' && error !== null && 'range' in error ? error.range : undefined;
  const { start, end } = isRange(range) ? range : { start: 0, end: text.length };
  return {
    message: explained(reasonOf(error), text, start, vocabulary),
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

/** Replaces messages about common mistakes with more helpful ones. */
function explained(message: string, text: string, at: number, vocabulary: Vocabulary): string {
  if (message === 'Unexpected character: =') return 'a single "="; to compare, write "=="';
  if (/^Unexpected token: EOF|, got EOF$/.test(message)) return 'the expression is incomplete';
  const record = /^map<.*> (==|!=) (string|null|int|double|bool) is not supported$/.exec(message);
  if (record !== null) {
    const name = /^\w+/.exec(text.slice(at))?.[0] ?? '';
    const fields = vocabulary.fieldsOf(name);
    if (fields !== undefined) return `${name} is an object; compare one of its fields: ${fields.join(', ')}`;
  }
  return message.replace(/^Unknown variable: (.*)$/, 'there is no variable "$1"');
}

/** Returns the first use of an unknown field of a record. */
function wrongField(node: ASTNode, shadowed: ReadonlySet<string>, vocabulary: Vocabulary): CelProblem | undefined {
  if (node.op === '.') {
    const [owner, field] = node.args;
    if (owner.op === 'id' && !shadowed.has(owner.args)) {
      const fields = vocabulary.fieldsOf(owner.args);
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
    const problem = wrongField(operand, shadowed, vocabulary);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * Returns the records that must not be empty. In a conjunction every operand must be true, which an operand that uses a
 * field of an empty record is not, unless it calls `has`, branches, or loops. Inside other operators, such as a
 * negation, a conjunction may be false without using the record.
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

/** Checks regular expressions that are literals. */
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

function namesVariable(node: ASTNode, vocabulary: Vocabulary): boolean {
  return (
    (node.op === 'id' && Object.hasOwn(vocabulary.variables, node.args)) ||
    operands(node).some((operand) => namesVariable(operand, vocabulary))
  );
}

function variablesIn(node: ASTNode, shadowed: ReadonlySet<string>, vocabulary: Vocabulary): string[] {
  return node.op === 'id'
    ? Object.hasOwn(vocabulary.variables, node.args) && !shadowed.has(node.args)
      ? [node.args]
      : []
    : operands(node).flatMap((operand) => variablesIn(operand, shadowed, vocabulary));
}

/** Returns the texts in `tool.name == "…"`, `!=`, and `tool.name in […]`. */
function comparedNames(node: ASTNode): TextInQuery[] {
  const sides = operands(node);
  const own =
    (node.op === '==' || node.op === '!=' || node.op === 'in') && sides.some(isToolName)
      ? sides.flatMap((side) => (side.op === 'list' ? operands(side) : [side])).flatMap(textIn)
      : [];
  return [...own, ...sides.flatMap(comparedNames)];
}

function isToolName(node: ASTNode): boolean {
  if (node.op !== '.') return false;
  const [owner, field] = node.args;
  return owner.op === 'id' && owner.args === 'tool' && field === 'name';
}

function textIn(node: ASTNode): TextInQuery[] {
  return node.op === 'value' && typeof node.args === 'string'
    ? [{ text: node.args, column: node.range.start + 1, length: node.range.end - node.range.start }]
    : [];
}
