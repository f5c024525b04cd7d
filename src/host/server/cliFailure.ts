/** What the command line said, as errors the extension can act on. */
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
/** Positions are checked here, since editors do not take wrong ones. */
const problem = z
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
  .transform((found) => found as Problem); // its code is one of the command line's own, and only shown

/** The one JSON document of a command, or the error it told instead. */
export function documentOf(stdout: string, stderr: string, exitCode: number | null): unknown {
  let value: unknown;
  try {
    value = JSON.parse(stdout);
  } catch (cause) {
    const said = stderr.trim().split('\n').at(-1) ?? '';
    throw new StudioError(
      'internal',
      `The rollout command ended with ${exitCode === null ? 'a signal' : `exit code ${exitCode}`} and no ` +
        `answer${said === '' ? '.' : `: ${said}`}`,
      { hint: 'Its log may tell more.', cause },
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

/** The problems of files that an error is about; none when it is about something else. */
export function problemsOf(error: unknown): readonly Problem[] {
  if (!StudioError.is(error, 'config')) return [];
  const parsed = z.array(problem).safeParse(error.details?.['problems']);
  return parsed.success ? parsed.data : [];
}

const missing = z.object({ missing: z.array(z.string()).min(1) });

/** Environment variables that have no value, when that is all that is wrong: of files, or of a batch that goes on. */
export function missingValues(error: unknown): readonly string[] {
  if (!StudioError.is(error, 'config')) return [];
  const ofBatch = missing.safeParse(error.details);
  if (ofBatch.success) return ofBatch.data.missing;
  const problems = problemsOf(error);
  const names = problems
    .map((found) => (found.code === 'env' ? found.variable : undefined))
    .filter((name) => name !== undefined);
  return names.length === problems.length ? [...new Set(names)] : [];
}
