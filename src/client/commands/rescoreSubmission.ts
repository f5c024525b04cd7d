/**
 * Builds the submission of a batch that rescores another one: a scorer, and the world if that is the verifier. The
 * agent is kept for its name and limits only, because it is not run.
 */
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import { PRODUCT } from '../../common/product.ts';
import { DEFAULTS } from '../../config/defaults.ts';
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
import type { LaunchBlob } from '../launch.ts';
import { moduleNow } from '../moduleNow.ts';
import { filesAt, submitPorts } from '../submitFile.ts';
import { workspaceRoot } from '../workspace.ts';
import { envOf, type ForkPlace } from './forkSubmission.ts';
import { readSubmission } from './reportInput.ts';

export interface RescoreSubmission {
  readonly submission: Submission;
  readonly secrets: Readonly<Record<string, string>>;
  readonly blobs: readonly LaunchBlob[];
  /** What the user should know, one sentence each. */
  readonly notes: readonly string[];
}

/** A scorer with what it needs. */
interface ChosenScorer {
  readonly scorer: SubmittedScorer;
  readonly world: SubmittedWorld | undefined;
  readonly env: Submission['env'];
  readonly secrets: Readonly<Record<string, string>>;
  readonly blobs: readonly LaunchBlob[];
}

/**
 * Builds the submission. `file`: the file with the scorer; by default, the batch's own scorer, with its current code.
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
  const chosen = file === undefined ? await ownScorer(batch, original, place) : await scorerOfFile(file, place);
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
  };
}

async function scorerOfFile(file: string, place: ForkPlace): Promise<ChosenScorer> {
  const { cwd, env, within } = place;
  const absolute = path.resolve(cwd, file);
  const root = workspaceRoot(absolute, cwd);
  const files = filesAt(place);
  const { value, problems } = await loadScorer(files, absolute);
  if (value === undefined) throw problemsError(problems, files.absolute(cwd));
  const built = await buildScorer(value, root, submitPorts(files, root, env, within));
  return {
    scorer: built.scorer,
    world: built.world,
    env: built.env,
    secrets: built.secrets,
    blobs: await Array.fromAsync(built.blobs),
  };
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
