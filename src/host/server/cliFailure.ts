/** Converts CLI failures to StudioErrors. */
import { z } from 'zod';
import { ERROR_CODES, StudioError } from '../../common/errors.ts';
import type { Problem } from '../../config/source/problem.ts';

const failure = z.object({
  error: z.object({
    code: z.enum(ERROR_CODES),
    message: z.string(),
    hint: z.string().optional(),
    details: z.record(z.string(), z.unknown()).optional(),
  }),
});

const place = z.number().int().min(1);
/** A problem in the output of the CLI. Validates positions, because VS Code rejects invalid ones. */
export const problem = z
  .object({
    file: z.string(),
    line: place,
    column: place,
    endLine: place,
    endColumn: place,
    message: z.string(),
    hint: z.string(),
    severity: z.enum(['error', 'warning']),
    code: z.string(),
    variable: z.string().optional(),
  })
  .transform((problem) => problem as Problem); // `code` is only displayed

/** Parses the JSON document of a command. Throws the error it reports instead. */
export function documentOf(stdout: string, stderr: string, exitCode: number | null): unknown {
  let value: unknown;
  try {
    value = JSON.parse(stdout);
  } catch (cause) {
    const lastLine = stderr.trim().split('\n').at(-1) ?? '';
    throw new StudioError(
      'internal',
      `The rollout command ${exitCode === null ? 'was terminated' : `exited with code ${exitCode}`} without a ` +
        `result${lastLine === '' ? '.' : `: ${lastLine}`}`,
      { hint: 'See the log for details.', cause },
    );
  }
  const failed = failure.safeParse(value);
  if (!failed.success) return value;
  const { code, message, hint, details } = failed.data.error;
  throw new StudioError(code, message, {
    ...(hint === undefined ? {} : { hint }),
    ...(details === undefined ? {} : { details }),
  });
}

/** Returns the file problems of an error, if any. */
export function problemsOf(error: unknown): readonly Problem[] {
  if (!StudioError.is(error, 'config')) return [];
  const parsed = z.array(problem).safeParse(error.details?.['problems']);
  return parsed.success ? parsed.data : [];
}

const missing = z.object({ missing: z.array(z.string()).min(1) });

/** Returns the missing environment variables if they are the only problem of the files or batch. */
export function missingValues(error: unknown): readonly string[] {
  if (!StudioError.is(error, 'config')) return [];
  const ofBatch = missing.safeParse(error.details);
  if (ofBatch.success) return ofBatch.data.missing;
  const problems = problemsOf(error);
  const names = problems
    .map((problem) => (problem.code === 'env' ? problem.variable : undefined))
    .filter((name) => name !== undefined);
  return names.length === problems.length ? [...new Set(names)] : [];
}
