/**
 * The expression language for breakpoints, filters, watches, perturbations, and exports: CEL over event, step, tool,
 * message, observation, agent, side, task, attempt, part, usage, world, reward, verdicts, and status
 * (query/vocabulary.ts), and plain text.
 *
 * `compileQuery` interprets a text as follows (`compileCondition` accepts only CEL):
 * 1. Empty, or completely in one pair of quotes: text.
 * 2. Contains a comparison or logical operator (== != <= >= && ||), begins (after "!" and "(") with a variable and one
 *    of . [ < > =, or with any path and an operator, or ends with an operator: CEL. Errors are reported, not searched
 *    for.
 * 3. Valid boolean CEL that uses a variable, such as has(tool.error): CEL.
 * 4. Otherwise text: every word and every "quoted phrase" must occur, ignoring case.
 */
import { StudioError } from '../common/errors.ts';
import type { Json } from '../common/json.ts';
import { type CelProgram, celError, compileCel, type TextInQuery } from './query/cel.ts';
import { type QueryEnvironment, VARIABLES, type Values } from './query/vocabulary.ts';
import { splitWords, wordTest } from './query/words.ts';

type Match =
  | { readonly matched: true }
  | { readonly matched: false /** Why it could not be evaluated. */; readonly why?: string };

/** A compiled query. `matches` never throws. */
export interface Query {
  readonly kind: 'cel' | 'text';
  readonly text: string;
  /** A description of the interpretation, for people. */
  readonly explain: string;
  /** The words to search for, in a text query. */
  readonly words?: readonly string[];
  /** The records that must not be empty for a match. */
  readonly needs: readonly ('tool' | 'message')[];
  /** The variables that it uses, if it is CEL. */
  readonly variables: ReadonlySet<string>;
  /** Names that it compares with `tool.name`. */
  readonly toolNames: readonly TextInQuery[];
  matches(environment: QueryEnvironment): Match;
}

const NO_VARIABLES: ReadonlySet<string> = new Set();
const MATCH: Match = { matched: true };
const NO_MATCH: Match = { matched: false };
const COMPARES = /==|!=|<=|>=|&&|\|\|/;
const BEGINS_WITH_VARIABLE = new RegExp(`^[!(\\s]*(?:${Object.keys(VARIABLES).join('|')})\\s*[.\\[<>=]`);
/** An expression that is unfinished, or that uses a name of another tool: `progress.steps >`, `progress.steps > 3`. */
const LIKE_EXPRESSION = /^[!(\s]*[A-Za-z_]\w*(?:\.\w+)+\s*[<>=]|\w\s+[<>=]$/;
const ONE_QUOTED = /^(?:"([^"]*)"|'([^']*)')$/;

/**
 * Compiles a search or filter as typed by a person. Throws StudioError `usage`, with the column in `details`, for
 * invalid CEL.
 */
export function compileQuery(text: string): Query {
  const trimmed = text.trim();
  const quoted = ONE_QUOTED.exec(trimmed);
  if (quoted !== null) return textQuery(text, [quoted[1] ?? quoted[2] ?? '']);
  if (COMPARES.test(trimmed) || BEGINS_WITH_VARIABLE.test(trimmed) || isLikeExpression(trimmed))
    return compileCondition(text);
  const compiled = compileCel(trimmed);
  if (compiled.ok && compiled.program.type === 'bool' && compiled.program.hasVariable)
    return celQuery(text, compiled.program);
  return textQuery(text, splitWords(trimmed));
}

/** Returns whether a text was meant as an expression, even though it is unfinished or uses unknown names. */
export function isLikeExpression(text: string): boolean {
  return LIKE_EXPRESSION.test(text);
}

/**
 * Compiles a condition in CEL, for breakpoints, perturbations, and exports. Throws StudioError `usage`, with the column
 * in `details`.
 */
export function compileCondition(text: string): Query {
  const program = compile(text);
  if (program.type !== 'bool' && program.type !== 'dyn') {
    throw new StudioError('usage', `The expression evaluates to ${program.type}, not to true or false.`, {
      hint: 'Compare it with a value, for example tool.name == "search". To search for text, put it in quotes.',
      details: { column: 1, length: text.length },
    });
  }
  return celQuery(text, program);
}

type Evaluation = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly why: string };

/**
 * Compiles an expression with any type of value, for watches, logpoints, and the debug console. Throws StudioError
 * `usage`, with the column in `details`.
 */
export function compileExpression(text: string): {
  readonly text: string;
  evaluate(environment: QueryEnvironment): Evaluation;
} {
  const program = compile(text);
  return {
    text,
    evaluate: (environment) => {
      const result = program.run(environment);
      return result.ok ? { ok: true, value: jsonOf(result.value) } : result;
    },
  };
}

function compile(text: string): CelProgram {
  const result = compileCel(text);
  if (!result.ok) throw celError(result.problem);
  return result.program;
}

function celQuery(text: string, program: CelProgram): Query {
  return {
    kind: 'cel',
    text,
    explain: `events for which \`${text.trim()}\` is true`,
    needs: program.needs.map(({ record }) => record),
    variables: program.variables,
    toolNames: program.toolNames,
    matches: (environment) => {
      for (const { record, field } of program.needs) {
        if (isEmpty(environment[record])) return { matched: false, why: `there is no "${field}" here` };
      }
      const result = program.run(environment);
      if (!result.ok) return { matched: false, why: result.why };
      if (typeof result.value === 'boolean') return result.value ? MATCH : NO_MATCH;
      return { matched: false, why: 'it does not evaluate to true or false here' };
    },
  };
}

function isEmpty(values: Values): boolean {
  for (const _ in values) return false;
  return true;
}

function textQuery(text: string, words: readonly string[]): Query {
  const test = wordTest(words.filter((word) => word !== ''));
  return {
    kind: 'text',
    text,
    words,
    explain:
      words.length === 0 ? 'everything' : `events that contain ${words.map((word) => `"${word}"`).join(' and ')}`,
    needs: [],
    variables: NO_VARIABLES,
    toolNames: [],
    matches: (environment) => (test(environment.everything) ? MATCH : NO_MATCH),
  };
}

/** CEL's own types (bytes, durations, types) have a text form. */
interface Printable {
  toString(): string;
}

/** Converts a CEL value to JSON: integers to numbers, maps to objects, times and durations to text. */
function jsonOf(value: unknown): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number')
    return value;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (Array.isArray(value) || value instanceof Set) return [...value].map(jsonOf);
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, member]): [string, Json] => [String(key), jsonOf(member)]));
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'object') return null;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return (value as Printable).toString();
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]): [string, Json][] =>
      member === undefined ? [] : [[key, jsonOf(member)]],
    ),
  );
}
