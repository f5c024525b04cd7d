/** Problems in user files: where, what, and how to fix them. */
import { StudioError } from '../../common/errors.ts';
import { relative } from '../paths.ts';
import type { Path } from './parse.ts';

export type ProblemCode =
  | 'syntax' // not YAML, not JSON, not CSV, not UTF-8
  | 'duplicate_key'
  | 'unknown_key'
  | 'missing'
  | 'type'
  | 'value'
  | 'conflict' // settings contradict each other
  | 'version'
  | 'not_yet' // not available in this version
  | 'secret'
  | 'env'
  | 'file' // a file is missing or unreadable
  | 'placeholder'
  | 'unmet' // a tool needs a program that pods do not have
  | 'unknown_member' // the team has no such member
  | 'unknown_tool' // no tool has this name
  | 'unknown_export'
  | 'not_served' // the endpoint does not serve the model
  | 'unknown_queue' // the server of the target does not have the queue
  | 'unreachable' // a team member that never gets to work
  | 'dataset'
  | 'left_out' // broken records of a dataset are left out
  | 'world' // the lint of published worlds found it
  | 'duplicate_id';

/** Lines and columns are 1-based, columns in UTF-16 units; the end is exclusive. */
export interface Range {
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

/**
 * A fix that an editor can apply. Paths refer to the file of the problem.
 */
export type Fix =
  /** Replaces the range of the problem. */
  | { readonly do: 'replace'; readonly text: string }
  | { readonly do: 'remove'; readonly path: Path }
  /** Inserts a key with its literal value into the group at `path`. */
  | { readonly do: 'insert'; readonly path: Path; readonly key: string; readonly value: string }
  /** Creates the missing file. */
  | { readonly do: 'create'; readonly file: string; readonly role: 'prompt' | 'module' | 'file' };

export interface Problem extends Range {
  /** Absolute path with `/`. */
  readonly file: string;
  readonly message: string;
  /** What to do, as a sentence. */
  readonly hint: string;
  readonly severity: 'error' | 'warning';
  readonly code: ProblemCode;
  /** The missing environment variable: clients prompt for its value. */
  readonly variable?: string;
  /** Best fix first. */
  readonly fixes?: readonly Fix[];
}

/** Formats a problem as `file:line:column: message — hint`, with the path relative to `base` if it is inside. */
export function formatProblem(problem: Problem, base?: string): string {
  const displayed = base === undefined ? problem.file : relative(base, problem.file);
  const file = displayed.startsWith('../') ? problem.file : displayed;
  const kind = problem.severity === 'warning' ? 'warning: ' : '';
  return `${file}:${problem.line}:${problem.column}: ${kind}${problem.message} — ${problem.hint}`;
}

/** Sorts problems by file and position, and removes duplicates. */
export function sortProblems(problems: readonly Problem[]): Problem[] {
  const distinct = new Map(
    problems.map((problem) => [
      `${problem.file}\n${problem.line}\n${problem.column}\n${problem.code}\n${problem.message}`,
      problem,
    ]),
  );
  return [...distinct.values()].sort((a, b) =>
    a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line || a.column - b.column,
  );
}

export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some((problem) => problem.severity === 'error');
}

/** Combines problems into one StudioError `config`, with the list in `details.problems`. */
export function problemsError(problems: readonly Problem[], base?: string): StudioError {
  const text = sortProblems(problems)
    .map((problem) => formatProblem(problem, base))
    .join('\n');
  return new StudioError('config', text, { details: { problems } });
}
