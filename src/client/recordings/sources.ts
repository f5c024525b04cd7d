/** Finds the rollouts that references and files name, as recordings of a world. */
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import type { Api } from '../../protocol/api.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import type { ReadBlob } from '../../trace/spill.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { importedRecords } from '../importFile.ts';
import { readModel } from '../readStep.ts';
import { batchId, parseReference, resolveRollout, taskOf } from '../reference.ts';

/** A finished rollout. */
export interface RecordedRollout {
  readonly task: string;
  readonly question: string;
  readonly rollout: string;
  readonly read: () => Promise<TrajectoryModel>;
  readonly readBlob: ReadBlob;
}

/** What else a source has. */
export interface Unusable {
  /** Rollouts that have not ended. */
  open: number;
}

/**
 * Yields the rollouts of a reference: of an attempt or rollout itself, of all attempts of a task or batch. Throws
 * StudioError `not_found` or `gone`, and `usage` if it is no reference.
 */
export async function* rolloutsOf(
  api: Api,
  text: string,
  unusable: Unusable,
  signal: AbortSignal,
): AsyncGenerator<RecordedRollout> {
  const one = await rolloutOf(api, text, signal);
  if (one !== undefined) {
    const { row, task } = await api.rollout(one, signal);
    if (row.state === 'ended') yield stored(api, row, task.question, signal);
    else unusable.open++;
    return;
  }
  const ofTask = taskOf(text);
  const batch = await batchId(api, ofTask?.batch ?? text, signal);
  const questions = new Map<string, string>();
  for await (const row of api.allRollouts(batch, ofTask === undefined ? {} : { task: ofTask.task }, signal)) {
    if (row.state !== 'ended') {
      unusable.open++;
      continue;
    }
    const question = questions.get(row.task) ?? (await api.rollout(row.rollout, signal)).task.question;
    questions.set(row.task, question);
    yield stored(api, row, question, signal);
  }
}

/** Returns the rollout of a reference; undefined if it names a batch, or a task. */
async function rolloutOf(api: Api, text: string, signal: AbortSignal): Promise<string | undefined> {
  const task = taskOf(text);
  const isAttempt = task === undefined || /\/\d+$/.test(text.slice(text.indexOf('/') + 1));
  if (!isAttempt) return undefined;
  const reference = parseReference(text);
  if (reference.kind === 'batch') return undefined;
  try {
    return await resolveRollout(api, reference, signal);
  } catch (error) {
    // The ID of the task may end with a slash and a number.
    if (reference.kind === 'attempt' && StudioError.is(error, 'not_found')) return undefined;
    throw error;
  }
}

function stored(api: Api, { rollout, task }: RolloutRow, question: string, signal: AbortSignal): RecordedRollout {
  return {
    task,
    question,
    rollout,
    read: () => readModel(api, rollout, signal),
    readBlob: ({ $blob }) => api.getBlob($blob, signal),
  };
}

/** Yields the rollouts of a file of another tool, or of driven sessions, without importing it. */
export async function* rolloutsOfFile(file: string, signal: AbortSignal): AsyncGenerator<RecordedRollout> {
  const name = path.basename(file);
  const records = await importedRecords(file, signal);
  const questions = new Map(records.tasks.map(({ id, question }) => [id, question]));
  for await (const { task, attempt, events } of records.rollouts())
    yield {
      task,
      question: questions.get(task) ?? '',
      rollout: `${name}/${task}/${attempt}`,
      read: () => {
        const model = new TrajectoryModel();
        model.push(events);
        return Promise.resolve(model);
      },
      readBlob: ({ $blob }) => Promise.reject(new StudioError('not_found', `${name} has no blob ${$blob}.`)),
    };
}
