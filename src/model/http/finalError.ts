/** The error of a call that no further try would fix, with what a person can do about it. */

import { isJsonObject } from '../../common/json.ts';
import { sentence } from '../../common/text.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { ModelConnections, Target } from '../connections.ts';
import { shownEndpoint } from '../endpoint.ts';
import type { Failure } from './failures.ts';

export interface FailedCall {
  readonly endpoint: string;
  readonly model: string;
  readonly connections: ModelConnections;
  readonly target: () => Target;
}

/** How long the list of models may take; it only makes an error message better. */
const LIST_MS = 3_000;

export async function finalError(failure: Failure, call: FailedCall): Promise<ClassedError> {
  const endpoint = shownEndpoint(call.endpoint);
  switch (failure.what) {
    case 'denied':
      return new ClassedError(
        'model_error',
        `${endpoint} refused the key (${failure.status}): ${sentence(failure.text)} Check model.api_key and the ` +
          'variable it names.',
      );
    case 'missing': {
      const models = await listModels(call);
      let hint = 'Check model.endpoint: it must end where /chat/completions follows, usually with /v1.';
      if (models !== undefined && !models.includes(call.model))
        hint =
          models.length === 0
            ? 'It offers no model at all.'
            : `It offers: ${models.slice(0, 20).join(', ')}. Put one of these into model.name.`;
      return new ClassedError(
        'model_error',
        `${endpoint} has no ${models === undefined ? 'such address' : `model ${call.model}`} (404): ` +
          `${sentence(failure.text)} ${hint}`,
      );
    }
    case 'overflow':
      return new ClassedError(
        'context_overflow',
        `The messages are too long for ${call.model}: ${sentence(failure.text)}`,
      );
    case 'max_tokens':
      return new ClassedError(
        'model_error',
        `${endpoint} never gives as many tokens as model.sampling.max_tokens asks for (${failure.status}): ` +
          `${sentence(failure.text)} Lower it, with room left for the messages, or let the model have a longer ` +
          'context (vLLM: --max-model-len).',
      );
    case 'no_tools':
      return new ClassedError(
        'model_error',
        `${endpoint} takes no tools with ${call.model} (${failure.status}): ${sentence(failure.text)} Choose a ` +
          'model that can call tools; vLLM wants --enable-auto-tool-choice and --tool-call-parser.',
      );
    case 'refused':
      return new ClassedError('model_error', `${endpoint} refused the call (${failure.status}): ${failure.text}`);
    case 'unreachable':
      return new ClassedError(
        'model_error',
        `${endpoint} cannot be used: ${sentence(failure.text)} Check model.endpoint.`,
      );
    case 'unreadable':
      return new ClassedError('malformed_output', `${endpoint} sent an answer that cannot be read: ${failure.text}`);
    case 'busy':
    case 'down':
      return new ClassedError('infrastructure', `${endpoint} did not take the call: ${failure.text}`);
  }
}

/** Names of the endpoint's models; undefined when it does not tell. */
async function listModels(call: FailedCall): Promise<string[] | undefined> {
  try {
    const response = await call.connections
      .client(call.target())
      .get('/models', { timeout: LIST_MS, signal: AbortSignal.timeout(LIST_MS) })
      .asResponse();
    const chunks: Buffer[] = [];
    await call.connections.transport.bodyOf(response).pipe((chunk) => chunks.push(chunk));
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const list: unknown = isJsonObject(body) ? body['data'] : undefined;
    if (!Array.isArray(list)) return undefined;
    return list.flatMap((entry: unknown) =>
      isJsonObject(entry) && typeof entry['id'] === 'string' ? [entry['id']] : [],
    );
  } catch {
    // It only would have made the message better.
    return undefined;
  }
}
