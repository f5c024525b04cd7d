/** The result of a run of test.ts, for the process that started it. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { jsonOf } from '../../common/json.ts';
import { root } from '../bundles.ts';
import { countsSchema } from './counts.ts';

/** The option of test.ts that leaves the second run of failed files to its caller. */
export const ONCE = '--once';

const failedFileSchema = z.object({
  /** Path below the root. */
  file: z.string(),
  counts: countsSchema,
});
export type FailedFile = z.infer<typeof failedFileSchema>;

const resultSchema = countsSchema.extend({
  /** With `--once`, the files that failed. They are not part of the counts. */
  failedFiles: z.array(failedFileSchema),
});
export type RunResult = z.infer<typeof resultSchema>;

export function writeResult(requested: readonly string[], result: RunResult): void {
  const file = resultFile(requested);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(result));
}

/** Returns the result of the last run with these arguments; undefined if it did not get to its end. */
export function readResult(requested: readonly string[]): RunResult | undefined {
  const file = resultFile(requested);
  return existsSync(file) ? resultSchema.safeParse(jsonOf(readFileSync(file, 'utf8'))).data : undefined;
}

/** Removes the result of an earlier run with these arguments. */
export function removeResult(requested: readonly string[]): void {
  rmSync(resultFile(requested), { force: true });
}

function resultFile(requested: readonly string[]): string {
  const name = requested.length === 0 ? 'all' : requested.join('-').replace(/[^\w-]/g, '_');
  return path.join(root, 'test', '.out', `${name.slice(0, 100)}.json`);
}
