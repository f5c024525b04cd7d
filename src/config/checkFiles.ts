/** Implements the `check` command, which recognizes files by name. */
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
 * Returns all problems of agent, world, and batch files (with every file they name and whole datasets) and of
 * separate datasets (`*.jsonl`, `*.csv`, `*.json`). Of the latter, it only checks that each record can be read,
 * because the columns are defined by a batch.
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
 * Returns all problems of an agent, world, or batch file and of every file it names; undefined for any other file.
 * `records` limits how many records of a dataset are checked.
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
            message: `unknown file type: ${basename(path)}`,
            hint: 'File names end in .agent.yaml, .world.yaml, .batch.yaml, or for datasets in .jsonl, .csv, .json.',
          },
        ),
        code: 'file',
      },
    ];
  }
  const reading = new Reading(files);
  try {
    if ((await files.stat(path))?.kind !== 'file') {
      await reading.text(path); // reports the reason
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
 * Returns the agent, world, and batch files under a folder, sorted by path, without hidden and installed files.
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
