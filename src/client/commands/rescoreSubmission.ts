/**
 * Builds the submission of a batch that rescores another one: a scorer, and the world if that is the verifier. The
 * agent is kept for its name and limits only, because it is not run.
 */
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import { PRODUCT } from '../../common/product.ts';
import { DEFAULTS } from '../../config/defaults.ts';
import type { LoadedWorld } from '../../config/load/world.ts';
import { loadScorer } from '../../config/load.ts';
import { problemsError } from '../../config/source/problem.ts';
import {
  modulesOf,
  type Submission,
  type SubmittedAgent,
  type SubmittedModule,
  type SubmittedScorer,
  type SubmittedWorld,
  submission as submissionSchema,
} from '../../config/submission.ts';
import { buildScorer } from '../../config/submit.ts';
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { requireWithin } from '../confined.ts';
import type { LaunchBlob } from '../launch.ts';
import { moduleNow } from '../moduleNow.ts';
import { EditedVerifiers, verifierFileAt } from '../published/editedVerifiers.ts';
import { filesAt, submitPorts } from '../submitFile.ts';
import { workspaceRoot } from '../workspace.ts';
import { envOf, type ForkPlace } from './forkSubmission.ts';
import { readSubmission } from './reportInput.ts';

const NO_ENV: Submission['env'] = { names: [], shown: [] };

export interface RescoreSubmission {
  readonly submission: Submission;
  readonly secrets: Readonly<Record<string, string>>;
  readonly blobs: readonly LaunchBlob[];
  /** What the user should know, one sentence each. */
  readonly notes: readonly string[];
  /** Whether the scorer judges a task. Absent: it judges all. */
  readonly judges?: ((task: TaskRecord) => boolean) | undefined;
  /** As the batch was submitted; undefined for an imported one. */
  readonly original: Submission | undefined;
}

/** A scorer with what it needs. */
interface ChosenScorer {
  readonly scorer: SubmittedScorer;
  readonly world: SubmittedWorld | undefined;
  readonly env: Submission['env'];
  readonly secrets: Readonly<Record<string, string>>;
  readonly blobs: readonly LaunchBlob[];
  /** Verifiers of a code world that replace those of the batch. */
  readonly edited?: EditedVerifiers;
}

/**
 * Builds the submission. `file`: the file with the scorer, a world file, or the file of a verifier; by
 * default, the batch's own scorer, with its current code.
 * Throws StudioError `config` with the places of problems, and `usage` if the scorer cannot judge this batch.
 */
export async function rescoreSubmission(
  api: Api,
  batch: BatchRow,
  file: string | undefined,
  place: ForkPlace,
  signal: AbortSignal,
): Promise<RescoreSubmission> {
  const original = batch.imported ? undefined : await readSubmission(api, batch.submission, signal);
  const chosen =
    file === undefined ? await ownScorer(batch, original, place) : await scorerOfFile(file, original, place, signal);
  const notes: string[] = [];
  const blobs = [...chosen.blobs];
  let { world } = chosen;
  if (chosen.scorer.kind === 'world' && world === undefined) {
    if (original?.world === undefined)
      throw new StudioError('usage', `The scorer is the verifier of the world, but ${noWorld(batch)}.`, {
        hint: 'Choose a scorer that judges the answer or the conversation, such as exact, module, or judge.',
      });
    world = original.world;
    if (world.kind === 'module') {
      const now = await currentModule(world.module, original, place, notes);
      world = { ...world, module: now.module };
      blobs.push(...now.blobs);
    }
  }
  const { edited } = chosen;
  if (edited !== undefined && world?.kind === 'code' && edited.isFor(world)) {
    const now = edited.in(world);
    world = now.world;
    blobs.push(...now.blobs);
  } else if (edited !== undefined) throw noScenario(batch);
  const base = original ?? importedSubmission(batch);
  const { user: _asksNobody, ...plainWorld } = world ?? { user: undefined };
  const { world: _unused, notify: _notified, ...rest } = base;
  const submission: Submission = {
    ...rest,
    name: `${batch.name} · ${nameOf(chosen.scorer)}`,
    agent: silentAgent(base.agent, chosen.scorer),
    ...(world === undefined ? {} : { world: plainWorld as SubmittedWorld }), // with all but `user`
    scorer: chosen.scorer,
    stop: {},
    product: PRODUCT,
  };
  const env = envOf(submission, chosen.env);
  const values = env.names.flatMap((name): [string, string][] => {
    const value = chosen.secrets[name] ?? place.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return {
    submission: submissionSchema.parse({ ...submission, env }),
    secrets: Object.fromEntries(values),
    blobs,
    notes,
    original,
    judges: edited === undefined ? undefined : (task) => edited.judges(task),
  };
}

async function scorerOfFile(
  file: string,
  original: Submission | undefined,
  place: ForkPlace,
  signal: AbortSignal,
): Promise<ChosenScorer> {
  const { cwd, env, within } = place;
  const absolute = path.resolve(cwd, file);
  const verifier = verifierFileAt(absolute);
  if (verifier !== undefined) {
    if (within !== undefined) await requireWithin(within, verifier.folder);
    const edited = await EditedVerifiers.ofFile(verifier, signal);
    const none = { world: undefined, env: original?.env ?? NO_ENV, secrets: {}, blobs: [] };
    return { ...none, scorer: { kind: 'world', name: path.basename(absolute, '.py') }, edited };
  }
  const root = workspaceRoot(absolute, cwd);
  const files = filesAt(place);
  const { value, problems } = await loadScorer(files, absolute);
  if (value === undefined) throw problemsError(problems, files.absolute(cwd));
  const built = await buildScorer(value, root, submitPorts(files, root, env, within));
  const edited = await editedBy(value.world, built.world, original, within, signal);
  return {
    scorer: built.scorer,
    world: edited === undefined ? built.world : undefined,
    ...(edited === undefined ? {} : { edited }),
    env: built.env,
    secrets: built.secrets,
    blobs: await Array.fromAsync(built.blobs),
  };
}

/** Returns the verifiers of the code world that a file names; undefined for others. */
async function editedBy(
  loaded: LoadedWorld | undefined,
  built: SubmittedWorld | undefined,
  original: Submission | undefined,
  within: string | undefined,
  signal: AbortSignal,
): Promise<EditedVerifiers | undefined> {
  if (loaded?.kind !== 'code' || built?.kind !== 'code') return undefined;
  if (within !== undefined) await requireWithin(within, loaded.scenarios.folder);
  const names = original?.world?.kind === 'code' ? Object.keys(original.world.scenarios) : [];
  return await EditedVerifiers.ofWorld(loaded.scenarios, names, built, signal);
}

async function ownScorer(batch: BatchRow, original: Submission | undefined, place: ForkPlace): Promise<ChosenScorer> {
  if (original === undefined)
    throw new StudioError('usage', `Batch ${batch.batch} was imported, so it has no scorer of its own.`, {
      hint: 'Choose one with --scorer FILE.',
    });
  const { scorer, env } = original;
  const none = { world: undefined, env, secrets: {} };
  if (scorer.kind !== 'module') return { ...none, scorer, blobs: [] };
  const { module, blobs } = await moduleNow(scorer.module, modulesOf(original), place.cwd);
  return { ...none, scorer: { ...scorer, module }, blobs };
}

async function currentModule(
  module: SubmittedModule,
  original: Submission,
  place: ForkPlace,
  notes: string[],
): ReturnType<typeof moduleNow> {
  const now = await moduleNow(module, modulesOf(original), place.cwd);
  if (now.blobs.length === 0) notes.push(`${module.file} does not exist here, so its recorded code is used.`);
  return now;
}

function noScenario({ batch }: BatchRow): StudioError {
  return new StudioError(
    'usage',
    `No task of batch ${batch} is judged by these verifiers: they belong to other scenarios.`,
    {
      hint: 'Name the world file, or a verifier, of a scenario that its tasks name.',
    },
  );
}

function noWorld({ imported }: BatchRow): string {
  return imported ? 'imported recordings have no world' : 'this batch has no world';
}

function nameOf(scorer: SubmittedScorer): string {
  return scorer.name ?? scorer.kind;
}

/** Returns an agent that is only named: nothing of it needs a value, a program, or a permit of its endpoint. */
function silentAgent(agent: SubmittedAgent, scorer: SubmittedScorer): SubmittedAgent {
  const { name, file, answer, context, limits, model } = agent;
  return {
    name,
    file,
    answer,
    context,
    limits,
    prompt: { text: '' },
    tools: [],
    model: {
      endpoints: scorer.kind === 'judge' ? scorer.model.endpoints : ['demo:'],
      name: model.name.includes('${') ? name : model.name,
      headers: {},
      sampling: {},
      capture: { token_ids: false, logprobs: false },
      endpoint_wait_seconds: model.endpoint_wait_seconds,
    },
  };
}

/** Returns what stands for the submission of a recording, which has none. */
function importedSubmission(batch: BatchRow): Submission {
  const agent = {
    name: 'imported',
    file: '',
    model: {
      endpoints: ['demo:'],
      name: 'imported',
      headers: {},
      sampling: {},
      capture: { token_ids: false, logprobs: false },
      endpoint_wait_seconds: 600,
    },
    prompt: { text: '' },
    tools: [],
    answer: { kind: 'last_message' },
    context: DEFAULTS.context,
    limits: { steps: 1, seconds: 3600, tool_seconds: 120, tokens: 1 },
  };
  return submissionSchema.parse({
    version: 1,
    name: batch.name,
    file: '',
    agent,
    scorer: { kind: 'exact' },
    attempts: batch.attempts,
    seed: 0,
    stop: {},
    retry: DEFAULTS.retry,
    order: 'breadth',
    priority: 0,
    concurrency: 'auto',
    hold_limit_seconds: 3600,
    env: { names: [], shown: [] },
    product: PRODUCT,
  });
}
