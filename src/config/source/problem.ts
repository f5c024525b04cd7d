/** Something wrong with a file a user wrote: where, what, and what to do about it. */
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
  | 'conflict' // two settings contradict each other
  | 'version'
  | 'not_yet' // known, but not available in this version
  | 'secret'
  | 'env'
  | 'file' // a named file is absent or cannot be read
  | 'placeholder'
  | 'unmet' // a tool needs what no pod has
  | 'unknown_member' // named in a team that has no such member
  | 'unknown_tool' // named where tools are chosen, and nothing has one of that name
  | 'unknown_export'
  | 'not_served' // the endpoint does not serve the model
  | 'unreachable' // a member of a team that never gets to work
  | 'dataset'
  | 'duplicate_id';

/** Lines and columns are 1-based, columns in UTF-16 units; the end is the first position after it. */
export interface Range {
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

/**
 * What an editor can do about a problem, so that nobody has to read it out of the message. Paths are of the problem's
 * file.
 */
export type Fix =
  /** In place of the problem's range. */
  | { readonly do: 'replace'; readonly text: string }
  | { readonly do: 'remove'; readonly path: Path }
  /** A key with a value as one writes it, into the group at `path`. */
  | { readonly do: 'insert'; readonly path: Path; readonly key: string; readonly value: string }
  /** A file that is named and absent. */
  | { readonly do: 'create'; readonly file: string; readonly role: 'prompt' | 'module' | 'file' };

export interface Problem extends Range {
  /** Absolute path with `/`. */
  readonly file: string;
  readonly message: string;
  /** What to do next, as a sentence. */
  readonly hint: string;
  readonly severity: 'error' | 'warning';
  readonly code: ProblemCode;
  /** The environment variable it is about: clients ask for its value. */
  readonly variable?: string;
  /** The best first. */
  readonly fixes?: readonly Fix[];
}

/** `file:line:column: message — hint`; the path is shown relative to `base` where it lies inside. */
export function formatProblem(problem: Problem, base?: string): string {
  const shown = base === undefined ? problem.file : relative(base, problem.file);
  const file = shown.startsWith('../') ? problem.file : shown;
  const kind = problem.severity === 'warning' ? 'warning: ' : '';
  return `${file}:${problem.line}:${problem.column}: ${kind}${problem.message} — ${problem.hint}`;
}

/** By file, then by position; what is said twice about one place is kept once. */
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

/** All problems as one StudioError `config`; `details.problems` holds them for programs. */
export function problemsError(problems: readonly Problem[], base?: string): StudioError {
  const text = sortProblems(problems)
    .map((problem) => formatProblem(problem, base))
    .join('\n');
  return new StudioError('config', text, { details: { problems } });
}
