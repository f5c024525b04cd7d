/**
 * What a fork goes on with: its parent's submission, or that with the files as they are now, another agent or another
 * model.
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
import { diskFiles } from '../disk.ts';
import type { LaunchBlob } from '../launch.ts';
import { readBatch, submitPorts } from '../submitFile.ts';
import { workspaceRoot } from '../workspace.ts';

/** What is other than in the parent. Paths are absolute, or relative to the folder one asks from. */
export interface ForkWith {
  /** A batch file: agent, world and scorer as it names them and as they are now. */
  readonly file?: string | undefined;
  /** The file of another agent. */
  readonly agent?: string | undefined;
  /** The name of another model. */
  readonly model?: string | undefined;
  /** Where the model is. */
  readonly endpoint?: string | undefined;
}

/** Where files and values are taken from. */
export interface ForkPlace {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

export interface ForkSubmission {
  readonly submission: Submission;
  /** Its id; undefined: the parent's own. */
  readonly sha: string | undefined;
  readonly secrets: Readonly<Record<string, string>>;
  /** What the server needs beside it. */
  readonly blobs: AsyncIterable<LaunchBlob> | Iterable<LaunchBlob>;
  /** What of code and configuration is other than the parent's, a line each. */
  readonly differs: readonly string[];
  /** What is worth telling beside that, and not otherwise in the fork. */
  readonly notes: readonly string[];
}

export interface ForkParent {
  /** sha of what it was submitted as; undefined of an imported one, which has no agent of its own. */
  readonly submission: string | undefined;
  readonly task: TaskRecord;
}

export async function forkSubmission(
  api: Api,
  { submission: parent, task }: ForkParent,
  what: ForkWith,
  place: ForkPlace,
  signal: AbortSignal,
): Promise<ForkSubmission> {
  const before =
    parent === undefined
      ? undefined
      : submissionSchema.parse(JSON.parse(new TextDecoder().decode(await api.getBlob(parent, signal))));
  let made = what.file === undefined ? recorded(before) : await fromFile(what.file, task, place);
  if (what.agent !== undefined) made = await withAgent(made, what.agent, place);
  if (what.model !== undefined || what.endpoint !== undefined) made = withModel(made, what);
  const sha = submissionSha(made.submission);
  return {
    ...made,
    sha: sha === parent ? undefined : sha,
    differs: before === undefined ? [] : revisionDifferences(before, made.submission),
  };
}

type BuiltSubmission = Pick<ForkSubmission, 'submission' | 'secrets' | 'blobs' | 'notes'>;

function recorded(before: Submission | undefined): BuiltSubmission {
  if (before === undefined)
    throw new StudioError('unsupported', 'An imported rollout brings no agent that could go on.', {
      hint: 'Name the batch file to go on with (--batch FILE).',
    });
  return { submission: before, secrets: {}, blobs: [], notes: [] };
}

async function fromFile(file: string, task: TaskRecord, { cwd, env }: ForkPlace): Promise<BuiltSubmission> {
  // the server of its parent knows what its workers have
  const { built } = await readBatch(path.resolve(cwd, file), cwd, env, { target: DEFAULTS.target });
  return {
    submission: built.submission,
    secrets: built.secrets,
    blobs: built.modules,
    notes: await taskNotes(built.tasks, task),
  };
}

/** A fork keeps its parent's task: what came before was done for that one. */
async function taskNotes(tasks: AsyncIterable<TaskRecord>, task: TaskRecord): Promise<string[]> {
  for await (const now of tasks) {
    if (now.id === task.id)
      return canonicalJson(now) === canonicalJson(task)
        ? []
        : [`The dataset has another task ${task.id} now; the fork keeps the recorded one.`];
  }
  return [`The dataset has no task ${task.id} any more; the fork keeps the recorded one.`];
}

async function withAgent(made: BuiltSubmission, file: string, { cwd, env }: ForkPlace): Promise<BuiltSubmission> {
  const absolute = path.resolve(cwd, file);
  const root = workspaceRoot(absolute, cwd);
  const files = diskFiles(cwd);
  const loaded = await loadAgent(files, absolute);
  if (loaded.value === undefined) throw problemsError(loaded.problems, files.absolute(cwd));
  const { agent, env: names, secrets, blobs } = await buildAgent(loaded.value, root, submitPorts(files, root, env));
  const submission = { ...made.submission, agent, product: PRODUCT };
  return {
    ...made,
    submission: { ...submission, env: envOf(submission, made.submission.env, names) },
    secrets: { ...made.secrets, ...secrets },
    blobs: both(made.blobs, blobs),
  };
}

function withModel(made: BuiltSubmission, what: ForkWith): BuiltSubmission {
  const { agent, env } = made.submission;
  const submission = submissionSchema.parse({ ...made.submission, agent: agentWithModel(agent, what) });
  return { ...made, submission: { ...submission, env: envOf(submission, env) } };
}

/** Of a team all members, for they played with their models what is gone on with. */
function agentWithModel(agent: SubmittedAgent, what: ForkWith): SubmittedAgent {
  const { model: name, endpoint } = what;
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
            members: team.members.map((member) => ({ ...member, agent: agentWithModel(member.agent, what) })),
          },
        }),
  };
}

/** The variables that are still used; shown are those that no part hides. */
function envOf(
  { agent, world, scorer, notify }: Submission,
  ...parts: readonly Submission['env'][]
): Submission['env'] {
  const used = new Set(textsOf({ agent, world, scorer, notify }).flatMap(({ text }) => envNamesIn(text)));
  const hidden = new Set(parts.flatMap(({ names, shown }) => names.filter((name) => !shown.includes(name))));
  const names = [...used].sort();
  return { names, shown: names.filter((name) => !hidden.has(name)) };
}

async function* both(...sources: readonly ForkSubmission['blobs'][]): AsyncGenerator<LaunchBlob> {
  for (const source of sources) yield* source;
}
