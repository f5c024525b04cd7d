/**
 * Predicts a call of a rollout: a world that a model plays, or that answers from recordings, is told the calls before
 * it, as the agent saw them, and answers it. The call may be recorded, imported, or held before it is made. Nothing is
 * recorded, and nothing real is opened or called.
 */
import { StudioError } from '../common/errors.ts';
import { seedOf } from '../common/hash.ts';
import type { Json } from '../common/json.ts';
import type { Api } from '../protocol/api.ts';
import type { PredictedCall } from '../protocol/predictedCall.ts';
import type { ModelReply, SideQuestion, ToolHost, WorldSession } from '../rollout/ports.ts';
import { ClassedError } from '../trace/classedError.ts';
import { textOf } from '../trace/model/messages.ts';
import { seenResponse } from '../trace/model/seenResponse.ts';
import type { ToolSpan } from '../trace/model/spans.ts';
import { callDifference } from '../trace/prediction/callDifference.ts';
import type { PredictionDifference } from '../trace/prediction/difference.ts';
import type { Usage } from '../trace/schema.ts';
import { SimulatedSession } from '../worlds/simulated/open.ts';
import { callOnce } from './callTool.ts';
import { observedBefore, tellObserved } from './observedCalls.ts';
import { type Predictor, readPredictor } from './predictor.ts';
import { type RolloutRecord, readRecord, toolCallAt } from './recordedCall.ts';
import { withoutSecrets } from './toolValues.ts';
import { withTryEnvironment } from './tryEnvironment.ts';
import { openSession } from './tryInWorld.ts';

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
  const from = await readPredictor(api, record, span, options, signal);
  return await withoutSecrets(from.secrets, () => predict(record, span, from, options, signal));
}

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
      const model = world.kind === 'simulated' ? world.model.name : undefined;
      print(`Asking ${model ?? world.name} what ${name} returns, after ${before} earlier calls…`);
      const { result, error } = await callOnce(
        hostOf(session, edited === undefined ? from.real : undefined),
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
        world: { name: world.name, file: world.file, ...(model === undefined ? {} : { model }) },
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

/** Makes the call in a session. A recorded failure is what the agent would get. */
function hostOf(session: WorldSession, real: Json | undefined): ToolHost {
  return {
    specs: session.specs,
    call: async (call, context) => {
      try {
        return session instanceof SimulatedSession
          ? await session.call(call, context, real)
          : await session.call(call, context);
      } catch (error) {
        if (!(error instanceof ClassedError) || error.recorded === undefined) throw error;
        return { response: error.recorded.response, source: 'recorded' };
      }
    },
    close: () => session.close(),
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
