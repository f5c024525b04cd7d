/** What is wrong with published files, where, and what to do. */

export interface FileProblem {
  /** Relative to the folder. */
  readonly file: string;
  /** From 1; absent: the whole file. */
  readonly line?: number;
  readonly message: string;
  readonly hint?: string;
  /** The scenario that the line belongs to, and the task if it has a verifier. */
  readonly scenario?: string;
  readonly task?: number;
  /** Whether an earlier line has the same. */
  readonly isDuplicate?: true;
}

/** Renders a problem as `file:line: message`. */
export function problemText({ file, line, message }: FileProblem): string {
  return `${file}${line === undefined ? '' : `:${line}`}: ${message}`;
}
