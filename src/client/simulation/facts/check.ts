/** Checks the facts of search worlds in files: their rows, the answers of tasks, and what search results give away. */
import { StudioError } from '../../../common/errors.ts';
import type { Files } from '../../../config/files.ts';
import type { Problem } from '../../../config/source/problem.ts';
import { batchTruths, factsProblems, factsWorldsIn } from '../../../config/submit/facts.ts';
import type { LoadedFile } from '../../commands/loadedFiles.ts';
import { factPorts } from './read.ts';

export async function factsFindings(
  files: Files,
  loaded: readonly LoadedFile[],
  folder: string,
  signal: AbortSignal,
): Promise<Problem[]> {
  const simulation = factPorts(files, signal);
  const found: Problem[] = [];
  for (const { world, batch } of loaded)
    try {
      for (const each of factsWorldsIn(world))
        found.push(...(await factsProblems(each, folder, { files, simulation })));
      if (batch !== undefined) found.push(...(await batchTruths(batch, { files, simulation })).problems);
    } catch (error) {
      const problems = StudioError.is(error, 'config') ? error.details?.['problems'] : undefined;
      if (!Array.isArray(problems)) throw error;
      found.push(...(problems as readonly Problem[])); // set by `problemsError`
    }
  return found;
}
