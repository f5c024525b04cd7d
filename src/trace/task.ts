import type { Json, JsonObject } from '../common/json.ts';
import { oneLine } from '../common/text.ts';

/** One problem of a dataset. */
export interface TaskRecord {
  readonly id: string;
  /** The dataset's task that this group of a trainer repeats. `id` is that of the group then. */
  readonly of?: string;
  readonly question: string;
  readonly answer?: Json;
  /** Attachments, copied to the rollout's working directory before it starts. */
  readonly files?: readonly { readonly name: string; readonly sha: string; readonly bytes: number }[];
  readonly level?: string | number;
  /** The conversation that it continues: a blob with `ConversationMessage[]` as JSON, because it may be long. */
  readonly messages?: { readonly sha: string; readonly bytes: number; readonly count: number };
  readonly world?: { readonly scenario?: string; readonly seed?: number; readonly state?: Json };
  readonly meta: JsonObject;
}

/** A message before the question of a task. A system message is the first one. */
export interface ConversationMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly text: string;
}

/** Returns the ID of a task in its dataset, which is what prompts, tools, worlds, and scorers know. */
export function datasetId({ id, of }: Pick<TaskRecord, 'id' | 'of'>): string {
  return of ?? id;
}

/** Returns a task as it is in its dataset. */
export function asInDataset<T extends Pick<TaskRecord, 'id' | 'of'>>(task: T): T {
  const { of, ...rest } = task;
  return of === undefined ? task : ({ ...rest, id: of } as T); // without the optional field
}

/** Returns the hashes of the blobs that a task needs. */
export function blobsOfTask({ files = [], messages }: Pick<TaskRecord, 'files' | 'messages'>): string[] {
  return [...files.map(({ sha }) => sha), ...(messages === undefined ? [] : [messages.sha])];
}

/**
 * Returns the scenario of a task, of a world that has many. The tasks of a batch name theirs, whether they or the world
 * file did when it was submitted.
 */
export function scenarioOfTask(task: Pick<TaskRecord, 'world'> | undefined): string | undefined {
  return task?.world?.scenario;
}

/** Returns what an agent, its tools, and its world may know of a task: all but the expected answer. */
export function withoutAnswer(task: TaskRecord): TaskRecord {
  const { answer: _, ...rest } = task;
  return rest;
}

/**
 * Returns the name of a task for people. The tasks of a recording are named by their text, because their IDs are mostly
 * numbers.
 */
export function taskName({ id, question }: Pick<TaskRecord, 'id' | 'question'>, imported: boolean, max = 120): string {
  const text = imported ? oneLine(question, max) : '';
  return text === '' ? id : text;
}
