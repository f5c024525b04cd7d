/** Checks the values of the environment variables that files on disk refer to. */
import { fileKind } from '../../common/fileKinds.ts';
import type { Files } from '../../config/files.ts';
import { loadAgent, loadBatch, loadWorld } from '../../config/load.ts';
import type { ParsedFile } from '../../config/source/parse.ts';
import type { Problem } from '../../config/source/problem.ts';
import { visibleValues } from '../../config/submit/environment.ts';
import { filesOf } from '../../config/submit/sections.ts';

/**
 * Returns a warning for each variable that is set and whose value records would show, because it cannot be hidden.
 * Files with errors are skipped.
 */
export async function valueProblems(
  files: Files,
  paths: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<Problem[]> {
  const parsed: ParsedFile[] = [];
  for (const path of paths) parsed.push(...(await parsedFiles(files, path)));
  return visibleValues(parsed, (name) => env[name]);
}

async function parsedFiles(files: Files, path: string): Promise<ParsedFile[]> {
  switch (fileKind(path)) {
    case 'agent': {
      const { value } = await loadAgent(files, path);
      return value === undefined ? [] : filesOf(value);
    }
    case 'world': {
      const { value } = await loadWorld(files, path);
      return value === undefined ? [] : [value.parsed];
    }
    case 'batch': {
      const { value } = await loadBatch(files, path, { records: 1 });
      if (value === undefined) return [];
      return [...filesOf(value.agent), ...(value.world === undefined ? [] : [value.world.parsed]), value.parsed];
    }
    case undefined:
      return [];
  }
}
