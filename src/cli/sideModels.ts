/** Asks side models, such as a judge or a world model, outside of rollouts. Nothing is recorded. */

import { StudioError } from '../common/errors.ts';
import { withoutUndefined } from '../common/withoutUndefined.ts';
import { envNamesIn, resolveEnv } from '../config/env.ts';
import type { SubmittedModel } from '../config/submission.ts';
import { createModelClient } from '../model/client.ts';
import { ModelConnections } from '../model/connections.ts';
import { isDemo } from '../model/endpoint.ts';
import { PermitGate } from '../model/permits.ts';
import { Replicas } from '../model/replicas.ts';
import type { AskLive } from '../rerun/drive/drive.ts';
import type { AskModel } from '../rerun/predictCall.ts';
import { ClassedError } from '../trace/classedError.ts';
import { textOf } from '../trace/model/messages.ts';
import type { Context } from './context.ts';

/** Time for one question. An endpoint that cannot be reached is tried again until then. */
const MAX_MS = 180_000;

/** Returns what asks and returns the text of the reply. `seed`: that of the questions. */
export function liveModels(context: Pick<Context, 'env' | 'connect'>, affinity: string, seed: number): AskLive {
  const ask = modelAsker(context, affinity);
  return async (question, signal) => textOf((await ask(question, seed, signal)).parts);
}

/** Returns what asks and returns the whole reply. */
export function modelAsker(context: Pick<Context, 'env' | 'connect'>, affinity: string): AskModel {
  const connections = new ModelConnections();
  const gate = new PermitGate();
  const replicas = new Replicas();
  return async ({ side, model: written, messages, sampling }, seed, signal) => {
    const model = withValues(side, written, context.env);
    // Only the server has the demo model.
    const server = model.endpoints.some(isDemo) ? (await context.connect()).address() : undefined;
    const client = createModelClient(model, {
      ...{ connections, gate, replicas, affinity },
      report: () => undefined,
      demoUrl: () => `${server?.url ?? ''}/demo`,
      demoKey: () => server?.token,
      now: Date.now,
    });
    const limit = AbortSignal.timeout(MAX_MS);
    try {
      return await client.complete(
        {
          endpoint: model.endpoints[0] ?? '',
          model: model.name,
          messages: messages.map(({ role, text }, index) => ({
            m: index + 1,
            role,
            parts: [{ type: 'text', content: text }],
          })),
          tools: [],
          sampling: withoutUndefined({ ...model.sampling, ...sampling }),
          seed,
          capture: { token_ids: false, logprobs: false },
        },
        { signal: AbortSignal.any([signal, limit]) },
      );
    } catch (error) {
      if (!limit.aborted || signal.aborted) throw error;
      throw new ClassedError('timeout', `The side model ${side} did not answer within ${MAX_MS / 60_000} min.`, {
        cause: error,
      });
    }
  };
}

/** Fills in the values of `${env:…}`. Throws StudioError `config` with `details.missing` if variables are not set. */
function withValues(side: string, model: SubmittedModel, env: NodeJS.ProcessEnv): SubmittedModel {
  const names = envNamesIn(JSON.stringify(model));
  const missing = [...new Set(names)].filter((name) => (env[name] ?? '') === '');
  if (missing.length > 0)
    throw new StudioError('config', `The side model ${side} needs ${missing.join(', ')}, which is not set.`, {
      hint: 'Set it in the environment and try again.',
      details: { missing },
    });
  return resolveEnv(model, Object.fromEntries(names.map((name) => [name, env[name] ?? ''])));
}
