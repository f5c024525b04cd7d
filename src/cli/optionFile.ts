/** Reads the YAML files that options name: `--models`, `--pods`, `--shares`, and `--retention`. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { z } from 'zod';
import { errorText, StudioError } from '../common/errors.ts';
import { type ModelsFile, modelsFile } from '../config/schema/modelsFile.ts';
import { type PodsFile, podsFile } from '../config/schema/placement.ts';
import { type RetentionFile, retentionFile } from '../config/schema/retentionFile.ts';
import { type SharesFile, sharesFile } from '../config/schema/sharesFile.ts';
import { parseFile } from '../config/source/parse.ts';
import { hasErrors, problemsError } from '../config/source/problem.ts';
import { validate } from '../config/source/validate.ts';

export const readModelsFile = (cwd: string, file: string): Promise<ModelsFile> => read(cwd, file, modelsFile);

export const readPodsFile = (cwd: string, file: string): Promise<PodsFile> => read(cwd, file, podsFile);

export const readSharesFile = (cwd: string, file: string): Promise<SharesFile> => read(cwd, file, sharesFile);

export const readRetentionFile = (cwd: string, file: string): Promise<RetentionFile> => read(cwd, file, retentionFile);

/** Throws StudioError `config` with a line for each problem, and `not_found` if the file cannot be read. */
async function read<S extends z.ZodRawShape>(
  cwd: string,
  file: string,
  schema: z.ZodObject<S>,
): Promise<z.output<z.ZodObject<S>>> {
  const at = path.resolve(cwd, file);
  const text = await readFile(at, 'utf8').catch((cause: unknown) => {
    throw new StudioError('not_found', `Cannot read ${file}: ${errorText(cause)}`, { cause });
  });
  const parsed = parseFile(at, text);
  const { complete, problems } = validate(parsed, schema);
  const all = [...parsed.problems, ...problems];
  if (complete === undefined || hasErrors(all)) throw problemsError(all, cwd);
  return complete;
}
