/** Plans a batch that measures how well a world predicts what recorded calls returned, and what that costs. */
import { StudioError } from '../../common/errors.ts';
import { PRODUCT } from '../../common/product.ts';
import { DEFAULTS } from '../../config/defaults.ts';
import { REPLAY_ENDPOINT, type ReplayedRollout } from '../../config/submission/replay.ts';
import {
  DEFAULT_SANDBOX,
  type Submission,
  type SubmittedAgent,
  type SubmittedModel,
  submission as submissionSchema,
} from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { scenarioOfTask, type TaskRecord } from '../../trace/task.ts';
import { envOf, type ForkPlace } from '../commands/forkSubmission.ts';
import { readSubmission } from '../commands/reportInput.ts';
import type { LaunchBlob } from '../launch.ts';
import { type Estimate, estimateOf } from './estimate.ts';
import { readJudge } from './judge.ts';
import { type ReadRecording, readRecording } from './readRecording.ts';
import { recordedRollouts } from './select.ts';
import { readTestedWorld } from './testedWorld.ts';

export interface FidelityOptions {
  /** Batches, tasks (`BATCH/TASK`), attempts, and rollouts. */
  readonly references: readonly string[];
  /** The world file to test. */
  readonly world: string;
  /** The world continues from its own answers instead of the recorded ones. */
  readonly free?: boolean;
  /** A file with a scorer that is a judge, or `NAME@ENDPOINT`. */
  readonly judge?: string | undefined;
  /** Maximum number of rollouts. */
  readonly most?: number | undefined;
}

export interface FidelityPlan {
  readonly submission: Submission;
  readonly tasks: readonly TaskRecord[];
  readonly secrets: Readonly<Record<string, string>>;
  readonly blobs: readonly LaunchBlob[];
  readonly rollouts: number;
  readonly estimate: Estimate;
  readonly warnings: readonly string[];
}

/** Recordings that are read at the same time. */
const AT_ONCE = 4;
/** Longer than any recording: a replay ends where the recording does. */
const LIMITS = { steps: 1_000_000, seconds: 7 * 24 * 3600, tokens: 1_000_000_000 } as const;

/**
 * Plans the batch. Throws StudioError `usage` if there is nothing to replay, and `config` with the places of problems
 * of the files.
 */
export async function planFidelity(
  api: Api,
  options: FidelityOptions,
  place: ForkPlace,
  signal: AbortSignal,
): Promise<FidelityPlan> {
  const { batch, rows } = await recordedRollouts(api, options.references, options.most, signal);
  const original = batch.imported ? undefined : await readSubmission(api, batch.submission, signal);
  const agent = replayingAgent(original?.agent, batch);
  const [read, records] = await Promise.all([
    readAll(api, rows, original, agent.name, signal),
    Promise.all(rows.map(async ({ rollout }) => (await api.rollout(rollout, signal)).task)),
  ]);
  const tasks = records.map((task, index) => ({ ...task, id: taskId(rows[index], rows, index) }));
  const tested = await readTestedWorld(api, options.world, tasks, place, signal);
  const judge = options.judge === undefined ? undefined : await readJudge(options.judge, place);
  const recordings: Record<string, ReplayedRollout> = {};
  for (const [index, { id }] of tasks.entries()) {
    const [row, recording] = [rows[index], read[index]];
    if (row === undefined || recording === undefined) continue;
    const { rollout, task, attempt } = row;
    const domain = domainOf(records[index]);
    recordings[id] = {
      ...{ recording: recording.sha, rollout, batch: batch.batch, task, attempt },
      ...(domain === undefined ? {} : { domain }),
    };
  }
  const how = options.free === true ? 'free' : 'forced';
  const submission: Submission = {
    version: 1,
    name: `${tested.world.name} · ${batch.name}`,
    file: tested.world.file,
    agent,
    world: {
      kind: 'replay',
      name: batch.name,
      file: batch.name,
      perturb: [],
      recordings,
      ...(original?.world?.user === undefined ? {} : { user: { model: REPLAYED, prompt: original.world.user.prompt } }),
      worlds: { shadow: tested.world },
      shadow: { how, ...(judge === undefined ? {} : { judge: judge.model }) },
    },
    scorer: { kind: 'fidelity' },
    attempts: 1,
    seed: original?.seed ?? 0,
    stop: {},
    retry: DEFAULTS.retry,
    order: 'breadth',
    priority: 0,
    concurrency: 'auto',
    hold_limit_seconds: DEFAULTS.hold_limit,
    sandbox: original?.sandbox ?? DEFAULT_SANDBOX,
    env: { names: [], shown: [] },
    product: PRODUCT,
  };
  const env = envOf(submission, tested.env, ...(judge === undefined ? [] : [judge.env]));
  const given = { ...tested.secrets, ...judge?.secrets };
  const values = env.names.flatMap((name): [string, string][] => {
    const value = given[name] ?? place.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return {
    submission: submissionSchema.parse({ ...submission, env }),
    tasks,
    secrets: Object.fromEntries(values),
    blobs: [...read.map(({ sha, bytes }) => ({ sha, bytes })), ...tested.blobs],
    rollouts: rows.length,
    estimate: estimateOf(
      read.map(({ recording }) => recording),
      tested.world,
      judge?.model,
    ),
    warnings: tested.warnings,
  };
}

const REPLAYED: SubmittedModel = {
  endpoints: [REPLAY_ENDPOINT],
  name: 'recorded',
  headers: {},
  sampling: {},
  capture: DEFAULTS.capture,
  endpoint_wait_seconds: DEFAULTS.endpoint_wait,
};

/** Returns the agents of a recording, which say what was recorded and have no tools of their own. */
function replayingAgent(original: SubmittedAgent | undefined, batch: BatchRow): SubmittedAgent {
  if (original === undefined)
    return {
      name: 'agent',
      file: batch.name,
      model: REPLAYED,
      prompt: { text: '' },
      tools: [],
      answer: { kind: DEFAULTS.answer },
      context: DEFAULTS.context,
      limits: { ...DEFAULTS.limits, ...LIMITS },
    };
  const { team, ...own } = original;
  return {
    ...own,
    model: { ...REPLAYED, name: own.model.name },
    tools: [],
    limits: { ...own.limits, ...LIMITS },
    ...(team === undefined
      ? {}
      : {
          team: {
            ...team,
            members: team.members.map((member) => ({ ...member, agent: replayingAgent(member.agent, batch) })),
          },
        }),
  };
}

/** Returns the scenario of a task, or the column `domain` of its dataset. */
function domainOf(task: TaskRecord | undefined): string | undefined {
  const { domain } = task?.meta ?? {};
  return scenarioOfTask(task) ?? (typeof domain === 'string' ? domain : undefined);
}

/** Each recording is a task of its own: its attempt is part of the name. */
function taskId(row: RolloutRow | undefined, rows: readonly RolloutRow[], index: number): string {
  if (row === undefined) return String(index);
  const { task, attempt, try: tried } = row;
  const isOnly = rows.every((other) => other === row || other.task !== task || other.attempt !== attempt);
  return `${task}/${attempt}${isOnly ? '' : `-${tried}`}`;
}

async function readAll(
  api: Api,
  rows: readonly RolloutRow[],
  original: Submission | undefined,
  alone: string,
  signal: AbortSignal,
): Promise<ReadRecording[]> {
  const read: ReadRecording[] = [];
  const waiting = rows.entries();
  const reader = async (): Promise<void> => {
    for (const [index, { rollout }] of waiting)
      read[index] = await readRecording(api, rollout, original, alone, signal);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, reader));
  if (read.every(({ recording }) => recording.calls.length === 0))
    throw new StudioError('usage', 'These rollouts have no tool calls that a world could predict.', {
      hint: 'Choose rollouts whose agents used tools.',
    });
  return read;
}
