/** Reads the file of `--retention`. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { errorText, StudioError } from '../common/errors.ts';
import { type RetentionFile, retentionFile } from '../config/schema/retentionFile.ts';
import { parseFile } from '../config/source/parse.ts';
import { hasErrors, problemsError } from '../config/source/problem.ts';
import { validate } from '../config/source/validate.ts';

/** Throws StudioError `config` with a line for each problem, and `not_found` if the file cannot be read. */
export async function readRetentionFile(cwd: string, file: string): Promise<RetentionFile> {
  const at = path.resolve(cwd, file);
  const text = await readFile(at, 'utf8').catch((cause: unknown) => {
    throw new StudioError('not_found', `Cannot read ${file}: ${errorText(cause)}`, { cause });
  });
  const parsed = parseFile(at, text);
  const { complete, problems } = validate(parsed, retentionFile);
  const all = [...parsed.problems, ...problems];
  if (complete === undefined || hasErrors(all)) throw problemsError(all, cwd);
  return complete;
}
