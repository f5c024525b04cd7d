/**
 * Reads result files of tau-bench: a JSON array of `{task_id, trial, reward, info, traj}`, one entry per trial. `traj`
 * contains the OpenAI messages as the agent saw them, with the simulated user in the role `user`.
 *
 * Imported: every message and call, the reward and its parts, and the task with its expected actions. Not recorded,
 * hence absent: times, the model, token usage, and seeds.
 *
 * Rules: an attempt passes with a reward of 1 (the benchmark's own rule). A tool's text that begins with "Error" is an
 * error (the convention of its environments). An entry with an `error` in `info` and no messages is a failure of the
 * harness, not of the agent, so it becomes `infrastructure` instead of a reward of 0.
 */
import { z } from 'zod';
import { isJsonObject, isTooDeep, type Json, type JsonObject, MAX_DEPTH } from '../common/json.ts';
import type { Check } from '../trace/schema.ts';
import type { TaskRecord } from '../trace/task.ts';
import type { Format, ImportedRollout, ImportOptions, SkippedRecord, SourceFile } from './format.ts';
import { type OpenAiMessage, openAiMessage } from './openAiMessages.ts';
import { StreamWriter } from './streamWriter.ts';
import { actionChecks, outputChecks } from './tauBenchChecks.ts';

const json = z.unknown() as unknown as z.ZodType<Json>; // from JSON.parse
const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;

const entrySchema = z.object({
  task_id: z.union([z.string(), z.number()]),
  trial: z.number().int().min(0).optional(),
  reward: z.number().nullable(),
  traj: z.array(json),
  info: z
    .looseObject({
      task: z
        .looseObject({ instruction: z.string().optional(), actions: json.optional(), outputs: json.optional() })
        .optional(),
      reward_info: z
        .looseObject({
          info: z.record(z.string(), z.unknown()).nullish(),
          actions: z.array(z.object({ name: z.string(), kwargs: jsonObject })).optional(),
        })
        .nullish(),
      error: z.string().optional(),
    })
    .nullish(),
});
type Entry = z.infer<typeof entrySchema>;

interface Trial {
  readonly entry: Entry;
  readonly messages: readonly OpenAiMessage[];
}

/** Rewards this close to 1 pass, as in the benchmark. */
const PASS_TOLERANCE = 1e-6;

export const tauBench: Format = {
  id: 'tau-bench',
  name: 'tau-bench results',
  detect: (head) =>
    /^\uFEFF?\s*\[\s*\{/.test(head) && /"task_id"\s*:/.test(head) && /"(reward|traj|trial)"\s*:/.test(head),
  async read(file, options) {
    const skipped: SkippedRecord[] = [];
    const tasks = new Map<string, TaskDraft>();
    for await (const { number, trial } of trialsOf(file, (record) => skipped.push(record))) {
      const id = String(trial.entry.task_id);
      const draft = tasks.get(id) ?? { trials: [] };
      tasks.set(id, draft);
      note(draft, number, trial);
    }
    // Attempts by the number of their entry.
    const attempts = new Map([...tasks.values()].flatMap(({ trials }) => numbered(trials)));
    return {
      name: file.name.replace(/\.json$/i, ''),
      tasks: [...tasks].map(([id, draft]) => taskOf(id, draft)),
      count: attempts.size,
      attempts: [...attempts.values()].reduce((most, attempt) => Math.max(most, attempt), 0),
      skipped,
      async *rollouts() {
        for await (const { number, trial } of trialsOf(file, () => undefined)) {
          const attempt = attempts.get(number);
          if (attempt === undefined) continue; // only in a file that has changed, which its reader reports
          const task = String(trial.entry.task_id);
          yield { task, attempt, events: eventsOf(trial, task, attempt, options) };
        }
      },
    };
  },
};

interface NumberedTrial {
  /** Number of its entry in the file, from 0. */
  readonly number: number;
  readonly trial: number | undefined;
}

/** What is kept of the trials of a task until all are read. */
interface TaskDraft {
  readonly trials: NumberedTrial[];
  /** The first that an entry has. */
  recorded?: NonNullable<NonNullable<Entry['info']>['task']>;
  question?: OpenAiMessage['content'];
}

function note(draft: TaskDraft, number: number, { entry, messages }: Trial): void {
  draft.trials.push({ number, trial: entry.trial });
  const recorded = entry.info?.task;
  if (recorded !== undefined) draft.recorded ??= recorded;
  const first = messages.find((message) => message.role === 'user');
  if (first !== undefined) draft.question ??= first.content;
}

/** Yields the entries that can be read, and reports the others. */
async function* trialsOf(
  file: SourceFile,
  skip: (record: SkippedRecord) => void,
): AsyncGenerator<{ readonly number: number; readonly trial: Trial }> {
  let number = -1;
  for await (const element of file.elements()) {
    number++;
    const place = `${file.name}[${number}]`;
    if ('why' in element) {
      skip({ place, why: element.why });
      continue;
    }
    const trial = readTrial(element.value, place, skip);
    if (trial !== undefined) yield { number, trial };
  }
}

const TOO_DEEP = `nested deeper than ${MAX_DEPTH} levels`;

function readTrial(raw: unknown, place: string, skip: (record: SkippedRecord) => void): Trial | undefined {
  const entry = entrySchema.safeParse(raw);
  if (!entry.success) {
    skip({ place, why: issueText(entry.error) });
    return undefined;
  }
  const messages: OpenAiMessage[] = [];
  for (const [index, message] of entry.data.traj.entries()) {
    const result = openAiMessage.safeParse(message);
    // A trajectory with a gap would be misleading, so the whole entry is skipped.
    if (!result.success) {
      skip({ place: `${place}.traj[${index}]`, why: issueText(result.error) });
      return undefined;
    }
    if (isTooDeep({ ...result.data, tool_calls: undefined })) {
      skip({ place: `${place}.traj[${index}]`, why: TOO_DEEP });
      return undefined;
    }
    messages.push(result.data);
  }
  // Arguments of calls are the model's, and are kept as text.
  if (isTooDeep(entry.data.info)) {
    skip({ place, why: TOO_DEEP });
    return undefined;
  }
  return { entry: entry.data, messages };
}

function issueText(error: z.ZodError): string {
  const issue = error.issues[0];
  const path = issue?.path.map(String).join('.') ?? '';
  return `${path === '' ? '' : `${path}: `}${issue?.message ?? 'unexpected value'}`;
}

/**
 * Numbers the attempts: trial 0 is attempt 1. If trial numbers are missing or repeated, counts attempts in the order of
 * the trials, then of the file.
 */
function numbered(trials: readonly NumberedTrial[]): [number: number, attempt: number][] {
  const sorted = trials.toSorted((a, b) => (a.trial ?? 0) - (b.trial ?? 0));
  const numbers = sorted.flatMap(({ trial }) => trial ?? []);
  const distinct = numbers.length === sorted.length && new Set(numbers).size === numbers.length;
  return sorted.map(({ number, trial }, index) => [number, (distinct ? (trial ?? index) : index) + 1]);
}

function taskOf(id: string, { recorded, question }: TaskDraft): TaskRecord {
  const { instruction, actions, outputs, ...meta } = recorded ?? {};
  const answer = { ...(actions === undefined ? {} : { actions }), ...(outputs === undefined ? {} : { outputs }) };
  return {
    id,
    question: instruction ?? (typeof question === 'string' ? question : ''),
    ...(Object.keys(answer).length === 0 ? {} : { answer }),
    meta: jsonObject.parse(meta),
  };
}

function eventsOf(
  { entry, messages }: Trial,
  task: string,
  attempt: number,
  options: ImportOptions,
): ImportedRollout['events'] {
  const { reward } = entry;
  const failure = messages.length === 0 ? entry.info?.error : undefined;
  const stream = new StreamWriter({ batch: options.batch, task, attempt }, options.at);
  for (const message of messages) stream.openAi(message, { isError: (text) => /^Error\b/.test(text) });
  if (failure !== undefined)
    return stream.end({
      status: 'infrastructure',
      passed: null,
      reward: null,
      error: { class: 'infrastructure', message: failure },
    });
  const passed = reward === null ? null : Math.abs(reward - 1) <= PASS_TOLERANCE;
  const parts = rewardParts(entry.info?.reward_info?.info ?? {});
  const checks = passed === false ? failedChecks(entry, stream) : [];
  stream.score({
    scorer: 'tau-bench',
    value: reward,
    passed,
    ...(Object.keys(parts).length === 0 ? {} : { parts }),
    ...(checks.length === 0 ? {} : { checks }),
  });
  return stream.end({ status: 'done', passed, reward });
}

/** The benchmark rewards a conversation that its step limit cut off with 0, and reports nothing else about it. */
const CUT_OFF: Check = { name: 'conversation', passed: false, cause: 'conversation cut off' };

function failedChecks({ info }: Entry, { succeeded }: StreamWriter): Check[] {
  if (info?.task === undefined) return [];
  const rewarded = info.reward_info;
  if (rewarded === undefined || rewarded === null || Object.keys(rewarded.info ?? {}).length === 0) return [CUT_OFF];
  const expected = (rewarded.actions ?? []).map(({ name, kwargs }) => ({ name, arguments: kwargs }));
  const made = succeeded.map(({ name, arguments: args }) => ({ name, arguments: isJsonObject(args) ? args : {} }));
  const outputs = z.record(z.string(), z.boolean()).safeParse(rewarded.info?.['outputs']).data;
  const checks = outputs === undefined ? actionChecks(expected, made) : outputChecks(outputs);
  return checks.some((check) => !check.passed) ? checks : [UNEXPLAINED, ...checks];
}

/** The same actions in another order, or other ones to the same end. */
const UNEXPLAINED: Check = { name: 'database', passed: false, cause: 'database differs' };

/** Returns the numeric parts of the reward: `r_actions`, `r_outputs`. true and false count as 1 and 0. */
function rewardParts(info: Readonly<Record<string, unknown>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(info).flatMap(([name, value]): [string, number][] => {
      if (typeof value === 'boolean') return [[name, Number(value)]];
      return typeof value === 'number' && Number.isFinite(value) ? [[name, value]] : [];
    }),
  );
}
