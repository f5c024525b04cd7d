/** Reads the tasks of a batch file and their dataset lines, without building or running anything. */

import { type BatchDemand, demandOf } from '../../client/launchReview.ts';
import { StudioError } from '../../common/errors.ts';
import { readTasks } from '../../config/dataset/dataset.ts';
import { type Estimate, UsageEstimate } from '../../config/estimate.ts';
import type { Files } from '../../config/files.ts';
import { loadBatch } from '../../config/load.ts';
import { mostAttempts } from '../../config/schema/attemptsSection.ts';
import { partName } from '../../config/schema/mixSection.ts';
import { hasErrors, type Problem } from '../../config/source/problem.ts';

interface TaskLocation {
  readonly id: string;
  readonly question: string;
  /** Line of the record, starting at 1. */
  readonly line: number;
}

export interface TaskList {
  readonly name: string;
  /** Path of the dataset. */
  readonly dataset: string;
  readonly attempts: number;
  /** The target in the batch file. */
  readonly target: string;
  /** Names of the rules by which its world injects faults. */
  readonly rules: readonly string[];
  readonly tasks: readonly TaskLocation[];
  /** Whether these are all tasks of the dataset. */
  readonly complete: boolean;
  /** Parts of the mix, with their shares from 0 to 1. Empty without one. */
  readonly parts: readonly { readonly name: string; readonly share: number }[];
  /** What one attempt of each of these tasks will use. */
  readonly estimate: Estimate;
  /** What it asks of a server that divides what it has. */
  readonly demand: BatchDemand;
}

/** Throws StudioError `config` with the problems of the file if it is invalid. */
export async function taskList(files: Files, path: string, max: number): Promise<TaskList> {
  const { value, problems } = await loadBatch(files, path, { records: 1 });
  if (value === undefined) throw invalidFile(problems);
  const tasks: TaskLocation[] = [];
  const datasetProblems: Problem[] = [];
  const usage = new UsageEstimate(value);
  let complete = true;
  for await (const { task, line } of readTasks(files, value.dataset.spec, (problem) => datasetProblems.push(problem))) {
    if (tasks.length === max) {
      complete = false;
      break;
    }
    usage.add(task);
    tasks.push({ id: task.id, question: task.question, line });
  }
  if (tasks.length === 0 && hasErrors(datasetProblems)) throw invalidFile(datasetProblems);
  return {
    name: value.name,
    dataset: value.dataset.spec.path,
    attempts: mostAttempts(value.file.attempts),
    target: value.file.target,
    rules: value.world?.file.perturb.map(({ name }) => name) ?? [],
    tasks,
    complete,
    parts: (value.file.mix ?? []).map((part, index) => ({ name: partName(part, index), share: part.share })),
    estimate: usage.result(1),
    demand: demandOf(value.file),
  };
}

function invalidFile(problems: readonly Problem[]): StudioError {
  const first = problems[0];
  return new StudioError(
    'config',
    first === undefined ? 'Cannot read this batch file.' : `${first.message} (line ${first.line})`,
    {
      ...(first === undefined ? {} : { hint: first.hint }),
      details: { problems },
    },
  );
}
