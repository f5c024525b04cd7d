/** Which task a row of NeMo Gym wants, and how it asks to sample. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { sha256Hex } from '../../common/hash.ts';
import { canonicalJson, type Json, type JsonObject } from '../../common/json.ts';
import { type GroupSampling, groupSampling } from '../../protocol/groups.ts';
import { datasetId, type TaskRecord } from '../../trace/task.ts';
import { checked } from '../server.ts';
import type { GymRow } from '../shapes.ts';

const json = z.unknown() as unknown as z.ZodType<Json>;

/** A whole task in a row. Attachments and conversations are of the dataset alone. */
const wholeTask = z.strictObject({
  id: z
    .union([z.string().min(1), z.number()])
    .transform(String)
    .optional(),
  question: z.string().min(1),
  answer: json.optional(),
  level: z.union([z.string(), z.number()]).optional(),
  world: z
    .strictObject({ scenario: z.string().optional(), seed: z.number().int().optional(), state: json.optional() })
    .optional(),
  meta: (z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>).default({}),
});

/** Names of fields with the ID of a task, in the order in which they are looked for. */
const ID_FIELDS = ['task_id', 'id'] as const;

/**
 * Returns the task of a row: a whole one in `task`, or the ID of one of the dataset in `task`, `task_id`, or `id`.
 * Throws StudioError `usage` for a row without a task, and `not_found` for an unknown one.
 */
export function taskOfRow(row: GymRow, dataset: ReadonlyMap<string, TaskRecord>): TaskRecord | string {
  const { task } = row;
  if (typeof task === 'object' && task !== null) {
    const { id, ...rest } = checked(wholeTask, task, 'the task of the row');
    const whole = JSON.parse(JSON.stringify(rest)) as Omit<TaskRecord, 'id'>;
    return { id: id ?? `row-${sha256Hex(canonicalJson(rest)).slice(0, 16)}`, ...whole };
  }
  const [id] = [task, ...ID_FIELDS.map((field) => row[field])].flatMap((value) =>
    (typeof value === 'string' && value !== '') || typeof value === 'number' ? [String(value)] : [],
  );
  if (id === undefined)
    throw new StudioError('usage', 'The row names no task.', {
      hint: 'Give it `task_id`, the ID of a task of the dataset, or `task` with at least `question`.',
    });
  const record = dataset.get(id);
  if (record !== undefined) return datasetId(record);
  throw new StudioError('not_found', `The dataset has no task ${id.slice(0, 200)}.`, {
    hint: `It has ${dataset.size} tasks, for example ${[...dataset.keys()].slice(0, 3).join(', ')}.`,
  });
}

/** Parameters of a row that decide how its tokens are sampled, and their keys in agent files. */
const SAMPLING = [
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['max_output_tokens', 'max_tokens'],
] as const;

/**
 * Returns the sampling parameters that a row asks for; undefined if it asks for none. They replace those of the agent
 * file. Throws StudioError `usage` for values that no endpoint takes.
 */
export function samplingOfRow({ responses_create_params: asked }: GymRow): GroupSampling | undefined {
  const found = SAMPLING.flatMap(([field, key]) => {
    const value = asked[field];
    return value === undefined || value === null ? [] : [[key, value] as const];
  });
  if (found.length === 0) return undefined;
  return checked(groupSampling, Object.fromEntries(found), 'the sampling of the row');
}

/** Returns a name of a group for a row: the same for equal rows, with its indices for people. */
export function nameOfRow(row: GymRow): string {
  const { _ng_task_index: task, _ng_rollout_index: rollout } = row;
  const content = sha256Hex(canonicalJson(row)).slice(0, 24);
  return task === undefined && rollout === undefined ? content : `${task ?? '-'}.${rollout ?? '-'}.${content}`;
}
