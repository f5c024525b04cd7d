/** What the command `check` does: every kind of file by its name. */
import { fileKind } from '../common/fileKinds.ts';
import { isJsonObject } from '../common/json.ts';
import { formatOf, notUtf8Problem, rawRecords, recordProblem } from './dataset/dataset.ts';
import { NotUtf8 } from './dataset/text.ts';
import type { Files } from './files.ts';
import { Reading } from './load/reading.ts';
import { loadAgent, loadBatch, loadWorld } from './load.ts';
import { basename, joinPath } from './paths.ts';
import { type Problem, sortProblems } from './source/problem.ts';

const MAX_PROBLEMS = 50;

/**
 * All problems of agent, world and batch files (with everything they name, datasets whole) and of lone datasets
 * (`*.jsonl`, `*.csv`, `*.json`; only that each record can be read, for without a batch nothing says which columns
 * count).
 */
export async function checkFiles(files: Files, paths: readonly string[]): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const path of paths) problems.push(...(await checkFile(files, path)));
  return sortProblems(problems);
}

async function checkFile(files: Files, path: string): Promise<readonly Problem[]> {
  return (await checkConfig(files, path, Infinity)) ?? (await checkDataset(files, files.absolute(path)));
}

/**
 * All problems of an agent, world or batch file, with those of everything it names; undefined for any other. `records`:
 * so many of a dataset are looked at.
 */
export async function checkConfig(
  files: Files,
  path: string,
  records: number,
): Promise<readonly Problem[] | undefined> {
  switch (fileKind(path)) {
    case 'agent':
      return (await loadAgent(files, path)).problems;
    case 'world':
      return (await loadWorld(files, path)).problems;
    case 'batch':
      return (await loadBatch(files, path, { records })).problems;
    case undefined:
      return undefined;
  }
}

async function checkDataset(files: Files, path: string): Promise<Problem[]> {
  const format = formatOf(path);
  if (format === undefined) {
    return [
      {
        ...recordProblem(
          path,
          { line: 1, column: 1 },
          {
            message: `the name ${basename(path)} tells no kind of file that is known here`,
            hint: 'Names end in .agent.yaml, .world.yaml, .batch.yaml, or .jsonl, .csv, .json for datasets.',
          },
        ),
        code: 'file',
      },
    ];
  }
  const reading = new Reading(files);
  try {
    if ((await files.stat(path))?.kind !== 'file') {
      await reading.text(path); // tells why
      return reading.problems;
    }
    for await (const record of rawRecords(files, path, format)) {
      if ('error' in record) reading.problems.push(recordProblem(path, record, record.error));
      else if (!isJsonObject(record.value))
        reading.problems.push(
          recordProblem(path, record, {
            message: 'a record must be an object of columns',
            hint: 'Write { "question": "…", "answer": "…" }.',
          }),
        );
      if (reading.problems.length === MAX_PROBLEMS) break;
    }
  } catch (thrown) {
    if (thrown instanceof NotUtf8) reading.problems.push(notUtf8Problem(path, thrown));
    else reading.unreadable(path, thrown);
  }
  return reading.problems;
}

/**
 * The agent, world and batch files under a folder, in order of their paths; what is hidden or installed is left out.
 */
export async function configFilesUnder(files: Files, folder: string): Promise<string[]> {
  const found: string[] = [];
  const folders = [files.absolute(folder)];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const name of await files.list(next)) {
      if (name.startsWith('.') || name === 'node_modules/') continue;
      if (name.endsWith('/')) folders.push(joinPath(next, name));
      else if (fileKind(name) !== undefined) found.push(joinPath(next, name));
    }
  }
  return found.sort();
}
