import path from 'node:path';
import { root } from '../bundles.ts';

/** Number of lines of an error in a summary; the whole error is in the output of its suite. */
const MAX_LINES = 20;

/** What Node's test runner reports about a test or suite that failed. */
interface Failed {
  readonly name: string;
  readonly file?: string | undefined;
  readonly details: { readonly error: Error & { readonly failureType?: string } };
}

/** Returns the file, the title, and the error of a test that failed, or undefined for a suite of such tests. */
export function failureText({ name, file, details: { error } }: Failed): string | undefined {
  if (error.failureType === 'subtestsFailed') return undefined;
  const cause = error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : String(error.cause);
  const lines = cause
    .split('\n')
    .filter((line) => !/^\s+at .*\bnode:/.test(line))
    .slice(0, MAX_LINES);
  return [`${file === undefined ? '' : `${path.relative(root, file)}: `}${name}`, ...lines].join('\n    ');
}
