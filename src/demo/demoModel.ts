/**
 * The demo model: an OpenAI-compatible endpoint that runs anywhere, offline and free, for the sample workspace, for
 * tests, and for a first look. It responds by rules (`policy/decide.ts`), is not a language model, and never claims to
 * be one. Its model ID is `demo`. Errors, streams, token IDs, and metrics have the format of vLLM's.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ChatCall } from './http/chat.ts';
import { Endpoints } from './http/endpoint.ts';
import {
  BODY_TOO_LARGE,
  badRequest,
  type HttpError,
  internalError,
  invalidBody,
  METHOD_NOT_ALLOWED,
  NOT_FOUND,
  UNAUTHORIZED,
} from './http/errors.ts';
import { metricsText } from './http/metrics.ts';
import { sendError, sendJson } from './http/send.ts';
import { chatRequest, detokenizeRequest, tokenizeRequest } from './request.ts';
import { renderPrompt } from './text/template.ts';
import { detokenize, tokenize } from './text/tokenizer.ts';

const MAX_BYTES = 64 * 1024 * 1024;

export interface DemoModelOptions {
  /** Default settings (see `faults.ts`) of requests without their own, e.g. `latency_ms=20&slots=4`. */
  readonly settings?: string;
  /** The path before `/v1/…` and `/metrics`, e.g. `/demo`. Default: none. */
  readonly prefix?: string;
}

/** Sums over all endpoints of one demo model. */
export interface DemoCounters {
  readonly calls: number;
  readonly completions: number;
  readonly toolCalls: number;
  /** Number of HTTP errors by status. */
  readonly refused: Readonly<Record<string, number>>;
  readonly cut: number;
  readonly malformed: number;
  readonly aborted: number;
  readonly running: number;
  readonly waiting: number;
  readonly promptTokens: number;
  readonly generationTokens: number;
}

export interface DemoModel {
  /** Handles a request below the prefix; any other path gets 404. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  counters(): DemoCounters;
}

/** Throws a RangeError if `settings` has an unknown setting. */
export function createDemoModel(options: DemoModelOptions = {}): DemoModel {
  const endpoints = new Endpoints(options.settings ?? '');
  const prefix = options.prefix ?? '';
  return {
    handle: (request, response) => route(endpoints, prefix, request, response),
    counters: () => sumOf(endpoints),
  };
}

type Settings = readonly [query: string, header: string];
type Route = (endpoints: Endpoints, settings: Settings, request: IncomingMessage, response: ServerResponse) => void;

const ROUTES: Readonly<Record<string, { readonly method: string; readonly answer: Route }>> = {
  '/v1/chat/completions': { method: 'POST', answer: chat },
  '/v1/models': { method: 'GET', answer: models },
  '/tokenize': { method: 'POST', answer: tokenizeRoute },
  '/detokenize': { method: 'POST', answer: detokenizeRoute },
  '/metrics': { method: 'GET', answer: metrics },
  '/health': {
    method: 'GET',
    answer: (_endpoints, _settings, _request, response) => void response.writeHead(200).end(),
  },
};

function route(endpoints: Endpoints, prefix: string, request: IncomingMessage, response: ServerResponse): void {
  const [path = '', query = ''] = (request.url ?? '').split('?', 2);
  const header = request.headers['x-demo'];
  const below = path.startsWith(prefix) ? path.slice(prefix.length) : '';
  const matchedRoute = Object.hasOwn(ROUTES, below) ? ROUTES[below] : undefined;
  if (matchedRoute?.method !== request.method) {
    request.resume();
    sendError(response, matchedRoute === undefined ? NOT_FOUND : METHOD_NOT_ALLOWED);
    return;
  }
  guarded(response, () =>
    matchedRoute?.answer(endpoints, [query, typeof header === 'string' ? header : ''], request, response),
  );
}

/** Invalid settings are the client's error. Any other error is a bug here and must not end the process. */
function guarded(response: ServerResponse, run: () => void): void {
  try {
    run();
  } catch (thrown) {
    if (response.headersSent) response.destroy();
    else if (thrown instanceof RangeError) sendError(response, badRequest(thrown.message, null));
    else sendError(response, internalError(thrown));
  }
}

function metrics(endpoints: Endpoints, settings: Settings, _request: IncomingMessage, response: ServerResponse): void {
  const text = metricsText(endpoints.matching(...settings));
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
  response.end(text);
}

function chat(endpoints: Endpoints, settings: Settings, request: IncomingMessage, response: ServerResponse): void {
  const endpoint = endpoints.of(...settings);
  const { counters } = endpoint;
  const refuse = (error: HttpError): void => {
    counters.refused.set(error.status, (counters.refused.get(error.status) ?? 0) + 1);
    sendError(response, error);
  };
  counters.calls++;
  if (refusesKey(endpoint.faults.key, request)) {
    request.resume();
    refuse(UNAUTHORIZED);
    return;
  }
  withBody(request, response, refuse, (body) => {
    const parsed = chatRequest.safeParse(body);
    if (parsed.success) new ChatCall(endpoint, parsed.data, request, response).run();
    else {
      const [issue] = parsed.error.issues;
      refuse(invalidBody(issue?.code ?? 'invalid', ['body', ...(issue?.path ?? [])].join('.'), issue?.message ?? ''));
    }
  });
}

function models(endpoints: Endpoints, settings: Settings, request: IncomingMessage, response: ServerResponse): void {
  const { faults } = endpoints.of(...settings);
  if (refusesKey(faults.key, request)) {
    sendError(response, UNAUTHORIZED);
    return;
  }
  sendJson(
    response,
    200,
    JSON.stringify({
      object: 'list',
      data: [
        {
          id: 'demo',
          object: 'model',
          created: 0,
          owned_by: 'rollout-studio',
          root: 'demo',
          parent: null,
          max_model_len: faults.context,
        },
      ],
    }),
  );
}

function refusesKey(key: string | undefined, request: IncomingMessage): boolean {
  return key !== undefined && request.headers.authorization !== `Bearer ${key}`;
}

function tokenizeRoute(
  endpoints: Endpoints,
  settings: Settings,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { faults } = endpoints.of(...settings);
  const refuse = (error: HttpError): void => sendError(response, error);
  withBody(request, response, refuse, (body) => {
    const parsed = tokenizeRequest.safeParse(body);
    if (!parsed.success || (parsed.data.prompt === undefined && parsed.data.messages === undefined)) {
      refuse(invalidBody('missing', 'body.prompt', 'Field required'));
      return;
    }
    const { prompt, messages, tools, add_generation_prompt } = parsed.data;
    const tokens =
      prompt === undefined
        ? renderPrompt(messages ?? [], tools, add_generation_prompt ?? true).parts.flat()
        : tokenize(prompt).ids;
    sendJson(
      response,
      200,
      JSON.stringify({ count: tokens.length, max_model_len: faults.context, tokens, token_strs: null }),
    );
  });
}

function detokenizeRoute(
  _endpoints: Endpoints,
  _settings: Settings,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const refuse = (error: HttpError): void => sendError(response, error);
  withBody(request, response, refuse, (body) => {
    const parsed = detokenizeRequest.safeParse(body);
    if (parsed.success) sendJson(response, 200, JSON.stringify({ prompt: detokenize(parsed.data.tokens) }));
    else refuse(invalidBody('missing', 'body.tokens', 'Field required'));
  });
}

function withBody(
  request: IncomingMessage,
  response: ServerResponse,
  refuse: (error: HttpError) => void,
  use: (body: unknown) => void,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_BYTES) chunks.push(chunk);
  });
  request.on('error', () => response.destroy()); // the client is gone, so there is nobody to respond to
  request.on('end', () => {
    if (bytes > MAX_BYTES) {
      refuse(BODY_TOO_LARGE);
      return;
    }
    let body: unknown;
    try {
      body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    } catch {
      refuse(invalidBody('json_invalid', 'body.1', 'JSON decode error'));
      return;
    }
    guarded(response, () => use(body));
  });
}

function sumOf(endpoints: Endpoints): DemoCounters {
  const all = endpoints.matching('', '');
  const sum = (of: (endpoint: (typeof all)[number]) => number): number =>
    all.reduce((total, endpoint) => total + of(endpoint), 0);
  const refused: Record<string, number> = {};
  for (const { counters } of all) {
    for (const [status, count] of counters.refused) refused[status] = (refused[status] ?? 0) + count;
  }
  return {
    calls: sum((e) => e.counters.calls),
    completions: sum((e) => e.counters.completions),
    toolCalls: sum((e) => e.counters.toolCalls),
    refused,
    cut: sum((e) => e.counters.cut),
    malformed: sum((e) => e.counters.malformed),
    aborted: sum((e) => e.counters.aborted),
    running: sum((e) => e.running),
    waiting: sum((e) => e.waiting),
    promptTokens: sum((e) => e.counters.promptTokens),
    generationTokens: sum((e) => e.counters.generationTokens),
  };
}
