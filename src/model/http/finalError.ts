/** Returns the error of a call that a retry cannot fix, with what a person can do about it. */

import { isJsonObject } from '../../common/json.ts';
import { sentence } from '../../common/text.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { ModelConnections, Target } from '../connections.ts';
import { endpointLabel } from '../endpoint.ts';
import type { Failure } from './failures.ts';

interface FailedCall {
  readonly endpoint: string;
  readonly model: string;
  readonly connections: ModelConnections;
  readonly target: () => Target;
}

/** Time limit for listing the models, which only improves an error message. */
const LIST_MS = 3_000;

export async function finalError(failure: Failure, call: FailedCall): Promise<ClassedError> {
  const endpoint = endpointLabel(call.endpoint);
  switch (failure.what) {
    case 'denied':
      return new ClassedError(
        'model_error',
        `${endpoint} rejected the API key (${failure.status}): ${sentence(failure.text)} Check model.api_key and its ` +
          'variable.',
      );
    case 'missing': {
      const models = await listModels(call);
      let hint = 'Check model.endpoint: it is the URL before /chat/completions and usually ends with /v1.';
      if (models !== undefined && !models.includes(call.model))
        hint =
          models.length === 0
            ? 'It serves no models.'
            : `Available models: ${models.slice(0, 20).join(', ')}. Set model.name to one of these.`;
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
        `${endpoint} does not support the value of model.sampling.max_tokens (${failure.status}): ` +
          `${sentence(failure.text)} Decrease it, leaving room for the messages, or give the model a longer ` +
          'context (vLLM: --max-model-len).',
      );
    case 'no_tools':
      return new ClassedError(
        'model_error',
        `${endpoint} does not support tools with ${call.model} (${failure.status}): ${sentence(failure.text)} Choose ` +
          'a model that can call tools. vLLM requires --enable-auto-tool-choice and --tool-call-parser.',
      );
    case 'refused':
      return new ClassedError('model_error', `${endpoint} rejected the call (${failure.status}): ${failure.text}`);
    case 'unreachable':
      return new ClassedError(
        'model_error',
        `${endpoint} cannot be used: ${sentence(failure.text)} Check model.endpoint.`,
      );
    case 'unreadable':
      return new ClassedError('malformed_output', `${endpoint} sent an invalid response: ${failure.text}`);
    case 'busy':
    case 'down':
    case 'slow':
      return new ClassedError('infrastructure', `${endpoint} did not accept the call: ${failure.text}`);
  }
}

/** Returns the names of the endpoint's models, or undefined if it does not list them. */
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
    // The list would only improve the message.
    return undefined;
  }
}
