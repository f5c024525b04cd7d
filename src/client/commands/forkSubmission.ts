/**
 * Builds the submission of a fork: its parent's, optionally with the current files, another agent, or another model.
 */
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import { canonicalJson } from '../../common/json.ts';
import { PRODUCT } from '../../common/product.ts';
import { DEFAULTS } from '../../config/defaults.ts';
import { envNamesIn } from '../../config/env.ts';
import { loadAgent } from '../../config/load.ts';
import { revisionDifferences } from '../../config/revisions.ts';
import { problemsError } from '../../config/source/problem.ts';
import { textsOf } from '../../config/source/strings.ts';
import {
  type Submission,
  type SubmittedAgent,
  type SubmittedModel,
  submission as submissionSchema,
  submissionSha,
} from '../../config/submission.ts';
import { buildAgent } from '../../config/submit.ts';
import type { Api } from '../../protocol/api.ts';
import type { TaskRecord } from '../../trace/task.ts';
import type { LaunchBlob } from '../launch.ts';
import { filesAt, type ReadOptions, type ReadPlace, readBatch, requireFolders, submitPorts } from '../submitFile.ts';
import { workspaceRoot } from '../workspace.ts';

/** What to change from the parent. Paths are absolute or relative to the current folder. */
export interface ForkWith {
  /** Batch file whose current agent, world, and scorer to use. */
  readonly file?: string | undefined;
  /** Agent file to use. */
  readonly agent?: string | undefined;
  /** Name of the model to use. */
  readonly model?: string | undefined;
  /** Model endpoint to use. */
  readonly endpoint?: string | undefined;
}

/** Where to read files and environment variables. */
export interface ForkPlace extends ReadPlace, Pick<ReadOptions, 'permit'> {
  readonly env: NodeJS.ProcessEnv;
}

export interface ForkSubmission {
  readonly submission: Submission;
  /** ID of the submission, or undefined if it is the parent's own. */
  readonly sha: string | undefined;
  /** The parent's submission and its ID; neither exists for imported rollouts. */
  readonly original: Submission | undefined;
  readonly originalSha: string | undefined;
  readonly secrets: Readonly<Record<string, string>>;
  /** Blobs that the submission references. */
  readonly blobs: AsyncIterable<LaunchBlob> | Iterable<LaunchBlob>;
  /** Differences from the parent in code and configuration, one per line. */
  readonly differs: readonly string[];
  /** Other notes for the user. */
  readonly notes: readonly string[];
}

interface ForkParent {
  /** SHA of its submission. undefined for imported rollouts, which have none. */
  readonly submission: string | undefined;
  readonly task: TaskRecord;
}

export async function forkSubmission(
  api: Api,
  { submission: parent, task }: ForkParent,
  changes: ForkWith,
  place: ForkPlace,
  signal: AbortSignal,
): Promise<ForkSubmission> {
  const original =
    parent === undefined
      ? undefined
      : submissionSchema.parse(JSON.parse(new TextDecoder().decode(await api.getBlob(parent, signal))));
  let built = changes.file === undefined ? recorded(original) : await fromFile(changes.file, task, place, api, signal);
  if (changes.agent !== undefined) built = await withAgent(built, changes.agent, place);
  return withModel(compared({ ...built, original, originalSha: parent }), changes);
}

type BuiltSubmission = Pick<ForkSubmission, 'submission' | 'secrets' | 'blobs' | 'notes'>;

/** Adds how a fork differs from its parent. */
function compared(fork: Omit<ForkSubmission, 'sha' | 'differs'>): ForkSubmission {
  const { submission, original, originalSha } = fork;
  const sha = submissionSha(submission);
  return {
    ...fork,
    sha: sha === originalSha ? undefined : sha,
    differs: original === undefined ? [] : revisionDifferences(original, submission),
  };
}

function recorded(original: Submission | undefined): BuiltSubmission {
  if (original === undefined)
    throw new StudioError('unsupported', 'An imported rollout has no agent to continue with.', {
      hint: 'Select a batch file to continue with (--batch FILE).',
    });
  return { submission: original, secrets: {}, blobs: [], notes: [] };
}

async function fromFile(
  file: string,
  task: TaskRecord,
  place: ForkPlace,
  api: Api,
  signal: AbortSignal,
): Promise<BuiltSubmission> {
  const { built } = await readBatch(path.resolve(place.cwd, file), place, place.env, {
    // Skip checks that depend on the target: the parent’s server already runs it.
    target: DEFAULTS.target,
    connect: () => Promise.resolve(api),
    permit: place.permit,
    allTasks: true,
    signal,
  });
  return {
    submission: built.submission,
    secrets: built.secrets,
    blobs: built.code,
    notes: await taskNotes(built.tasks, task),
  };
}

/** Notes if the dataset's task has changed. A fork keeps its parent's task, which the recorded steps belong to. */
async function taskNotes(tasks: AsyncIterable<TaskRecord>, task: TaskRecord): Promise<string[]> {
  for await (const now of tasks) {
    if (now.id === task.id)
      return canonicalJson(now) === canonicalJson(task)
        ? []
        : [`Task ${task.id} has changed in the dataset. The fork uses the recorded task.`];
  }
  return [`Task ${task.id} is no longer in the dataset. The fork uses the recorded task.`];
}

async function withAgent(base: BuiltSubmission, file: string, place: ForkPlace): Promise<BuiltSubmission> {
  const { cwd, env, within } = place;
  const absolute = path.resolve(cwd, file);
  const root = workspaceRoot(absolute, cwd);
  const files = filesAt(place);
  const loaded = await loadAgent(files, absolute);
  if (loaded.value === undefined) throw problemsError(loaded.problems, files.absolute(cwd));
  const {
    agent,
    env: names,
    secrets,
    blobs,
  } = await buildAgent(loaded.value, root, submitPorts(files, root, env, within));
  await requireFolders({ agent, world: undefined }, within);
  const submission = { ...base.submission, agent, product: PRODUCT };
  return {
    ...base,
    submission: { ...submission, env: envOf(submission, base.submission.env, names) },
    secrets: { ...base.secrets, ...secrets },
    blobs: concat(base.blobs, blobs),
  };
}

/** Returns the fork with another model or endpoint, if `changes` have one. */
export function withModel(fork: ForkSubmission, changes: Pick<ForkWith, 'model' | 'endpoint'>): ForkSubmission {
  if (changes.model === undefined && changes.endpoint === undefined) return fork;
  const { agent, env } = fork.submission;
  const submission = submissionSchema.parse({ ...fork.submission, agent: agentWithModel(agent, changes) });
  return compared({ ...fork, submission: { ...submission, env: envOf(submission, env) } });
}

/** Replaces the model of an agent and of all its team members. */
function agentWithModel(agent: SubmittedAgent, changes: Pick<ForkWith, 'model' | 'endpoint'>): SubmittedAgent {
  const { model: name, endpoint } = changes;
  const model: SubmittedModel = {
    ...agent.model,
    ...(name === undefined ? {} : { name }),
    ...(endpoint === undefined ? {} : { endpoints: [endpoint] }),
  };
  const { team } = agent;
  return {
    ...agent,
    model,
    ...(team === undefined
      ? {}
      : {
          team: {
            ...team,
            members: team.members.map((member) => ({ ...member, agent: agentWithModel(member.agent, changes) })),
          },
        }),
  };
}

/** Returns the variables still in use. Their values are shown unless a part hides them. */
export function envOf(
  { agent, world, scorer, notify }: Submission,
  ...parts: readonly Submission['env'][]
): Submission['env'] {
  const used = new Set(textsOf({ agent, world, scorer, notify }).flatMap(({ text }) => envNamesIn(text)));
  const hidden = new Set(parts.flatMap(({ names, shown }) => names.filter((name) => !shown.includes(name))));
  const names = [...used].sort();
  return { names, shown: names.filter((name) => !hidden.has(name)) };
}

async function* concat(...sources: readonly ForkSubmission['blobs'][]): AsyncGenerator<LaunchBlob> {
  for (const source of sources) yield* source;
}
