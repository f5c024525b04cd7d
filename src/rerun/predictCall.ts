/**
 * Predicts a call of a rollout: a world that a model plays is told the calls before it, as the agent saw them, and
 * answers it. The call may be recorded, imported, or held before it is made. Nothing is recorded.
 */

import path from 'node:path';
import { workspaceRoot } from '../client/workspace.ts';
import { StudioError } from '../common/errors.ts';
import { seedOf } from '../common/hash.ts';
import type { Json } from '../common/json.ts';
import { redactor } from '../common/redaction/redactor.ts';
import { DEFAULTS } from '../config/defaults.ts';
import { envNamesIn } from '../config/env.ts';
import type { SubmittedSimulatedWorld } from '../config/submission.ts';
import { submittedSimulatedWorld } from '../config/submit/sections.ts';
import type { Api } from '../protocol/api.ts';
import type { PredictedCall } from '../protocol/predictedCall.ts';
import type { ModelReply, SideQuestion } from '../rollout/ports.ts';
import { worldSeed } from '../rollout/world.ts';
import { callSeed } from '../trace/callSeed.ts';
import { textOf } from '../trace/model/messages.ts';
import { seenResponse } from '../trace/model/seenResponse.ts';
import type { ToolSpan } from '../trace/model/spans.ts';
import { callDifference } from '../trace/prediction/callDifference.ts';
import type { PredictionDifference } from '../trace/prediction/difference.ts';
import type { Usage } from '../trace/schema.ts';
import { callOnce } from './callTool.ts';
import { readWorldFile } from './drive/scenarioWorld.ts';
import { observedBefore, tellObserved } from './observedCalls.ts';
import { type RolloutRecord, readRecord, toolCallAt } from './recordedCall.ts';
import { withoutSecrets } from './toolValues.ts';
import { withTryEnvironment, workspaceSandbox } from './tryEnvironment.ts';
import { openSession, type TaskWorld } from './tryInWorld.ts';

/** Asks the world's model now. Throws ClassedError, or StudioError `config` if values are missing. */
export type AskModel = (question: SideQuestion, seed: number, signal: AbortSignal) => Promise<ModelReply>;

export interface PredictOptions {
  /** The world file. */
  readonly world: string;
  /** Replaces the arguments of the call. */
  readonly arguments?: Json | undefined;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly ask: AskModel;
  /** Says what it is doing. */
  readonly print: (text: string) => void;
}

/** A prediction, and how it differs from what the agent saw, if there is both. */
export interface Prediction extends PredictedCall {
  readonly difference?: PredictionDifference;
}

/** A question has a limit of its own. A world may repeat it, and wait for its endpoint in between. */
const MAX_SECONDS = 600;

/**
 * Predicts the call that starts at `seq`. Failures of the world and its model are results. Throws StudioError: `usage`
 * for a place without a call, or a world without a model; `config` for problems in the world's file, or missing values;
 * `not_found` if the world does not have the tool.
 */
export async function predictCall(
  api: Api,
  rollout: string,
  seq: number,
  options: PredictOptions,
  signal: AbortSignal,
): Promise<Prediction> {
  const record = await readRecord(api, rollout, signal);
  const span = toolCallAt(record, seq);
  const from = await readPredictor(record, span, options);
  const { model } = from.world;
  // Names and addresses of models are not secret.
  const secret = JSON.stringify([model.api_key, model.headers]);
  const secrets = redactor(envNamesIn(secret).map((name) => options.env[name] ?? ''));
  return await withoutSecrets(secrets, () => predict(record, span, from, options, signal));
}

type Predictor = TaskWorld & { readonly world: SubmittedSimulatedWorld };

async function predict(
  record: RolloutRecord,
  span: ToolSpan,
  from: Predictor,
  { arguments: edited, ask, print }: PredictOptions,
  signal: AbortSignal,
): Promise<Prediction> {
  const { world, blobs, task, sandbox } = from;
  const { name } = span.start.data;
  const args = edited ?? (await record.argumentsOf(span));
  const replies: ModelReply[] = [];
  const startedAt = performance.now();
  return await withTryEnvironment({ blobs, task, sandbox, signal, print }, async (environment) => {
    const session = await openSession(from, environment, signal);
    try {
      const spec = session.specs.find((candidate) => candidate.name === name);
      if (spec === undefined)
        throw new StudioError('not_found', `The world ${world.name} has no tool ${name}.`, {
          hint: `Its tools: ${session.specs.map((one) => one.name).join(', ')}.`,
        });
      const before = tellObserved(session, await observedBefore(record, span));
      print(`Asking ${world.model.name} what ${name} returns, after ${before} earlier calls…`);
      const { result, error } = await callOnce(
        session,
        spec,
        {
          id: span.start.data.call,
          arguments: args,
          seed: from.callSeed,
          ask: async (question) => {
            const reply = await ask(question, seedOf(from.callSeed, question.side, replies.length), signal);
            replies.push(reply);
            return textOf(reply.parts);
          },
        },
        MAX_SECONDS,
        print,
        signal,
      );
      const thinking = textOf(replies.at(-1)?.parts ?? [], 'reasoning');
      const real = edited === undefined ? seenResponse(record.model, span) : undefined;
      const difference =
        edited === undefined && result !== undefined ? callDifference(record.model, span, result) : undefined;
      const used = usageOf(replies);
      return {
        rollout: record.info.row.rollout,
        seq: span.seq,
        tool: name,
        arguments: args,
        ...(edited === undefined ? {} : { edited: true }),
        world: { name: world.name, file: world.file, model: world.model.name },
        before,
        ...(result === undefined ? {} : { prediction: result }),
        ...(error === undefined ? {} : { error }),
        ...(thinking === '' ? {} : { thinking }),
        ...(real === undefined ? {} : { real: await record.whole(real) }),
        ...(difference === undefined ? {} : { difference }),
        asked: replies.length,
        ...(used === undefined ? {} : { usage: used }),
        ms: performance.now() - startedAt,
      };
    } finally {
      await session.close();
    }
  });
}

/** Reads the world file and what opens it for the task of the rollout. */
async function readPredictor(
  { info, model }: RolloutRecord,
  span: ToolSpan,
  { world: file, cwd }: PredictOptions,
): Promise<Predictor> {
  const loaded = await readWorldFile(file, cwd);
  const root = workspaceRoot(path.resolve(cwd, file), cwd);
  if (loaded.kind !== 'simulated')
    throw new StudioError('usage', `The world ${loaded.file.name} has no model that predicts (kind: ${loaded.kind}).`, {
      hint: 'Use a world file with `kind: simulated`. To make the call again in its own world, leave out --predict.',
    });
  if (loaded.worlds.real !== undefined)
    throw new StudioError(
      'usage',
      `The world ${loaded.file.name} has a real world, which predictions must not reach.`,
      {
        hint: 'Use a world file without `real`, whose `tools` have the definitions.',
      },
    );
  const { seed = DEFAULTS.seed } = model.start?.data ?? {};
  return {
    root,
    world: submittedSimulatedWorld(loaded, root),
    task: info.task,
    seed: worldSeed(info.task, seed),
    callSeed: callSeed(model, span, seed),
    seconds: DEFAULTS.limits.tool_seconds,
    sandbox: workspaceSandbox(root),
    blobs: new Map(),
  };
}

function usageOf(replies: readonly ModelReply[]): Usage | undefined {
  const known = replies.flatMap(({ usage }) => usage ?? []);
  if (known.length === 0) return undefined;
  const sum = (part: keyof Usage): number => known.reduce((total, one) => total + (one[part] ?? 0), 0);
  const some = (part: keyof Usage): boolean => known.some((one) => one[part] !== undefined);
  return {
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    ...(some('cached_tokens') ? { cached_tokens: sum('cached_tokens') } : {}),
    ...(some('reasoning_tokens') ? { reasoning_tokens: sum('reasoning_tokens') } : {}),
  };
}
