/** A scripted OpenAI-compatible endpoint on a free port: tests define its responses and see its requests. */

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../src/common/json.ts';
import { byAffinity } from '../../src/model/endpoint.ts';

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
  readonly at: number;
}

export type Script = (request: ReceivedRequest, response: ServerResponse, nth: number) => void | Promise<void>;

export interface FakeEndpoint extends AsyncDisposable {
  /** Base URL, including `/v1`. */
  readonly url: string;
  readonly port: number;
  readonly seen: ReceivedRequest[];
}

export async function fakeEndpoint(script: Script, port = 0): Promise<FakeEndpoint> {
  const seen: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const entry = {
        path: request.url ?? '',
        headers: request.headers,
        body: (text === '' ? {} : JSON.parse(text)) as JsonObject,
        at: performance.now(),
      };
      seen.push(entry);
      void script(entry, response, seen.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    port: address.port,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A scripted endpoint that has nothing but a chat model: the server requests its metrics too. */
export function chatEndpoint(script: Script, port = 0): Promise<FakeEndpoint> {
  return fakeEndpoint((request, response, nth) => {
    if (isModelCall(request)) return script(request, response, nth);
    response.writeHead(404).end();
    return undefined;
  }, port);
}

function isModelCall({ path }: ReceivedRequest): boolean {
  return path.endsWith('/chat/completions');
}

/** The bodies of the model calls that it received, in order. */
export function bodiesOf({ seen }: FakeEndpoint): JsonObject[] {
  return seen.filter(isModelCall).map(({ body }) => body);
}

/** Number of model calls that it received. */
export function callsOf(endpoint: FakeEndpoint): number {
  return bodiesOf(endpoint).length;
}

/** Number of the user's messages in a request. */
export function turnsOf({ messages }: JsonObject): number {
  return (messages as JsonObject[]).filter(({ role }) => role === 'user').length;
}

/**
 * Returns `count` names, such as task IDs, for each endpoint. Which endpoint a name belongs to follows from the ports
 * of all.
 */
export function namesByEndpoint(endpoints: readonly FakeEndpoint[], prefix: string, count: number): string[] {
  const urls = endpoints.map(({ url }) => url);
  const names = Array.from({ length: 1_000 }, (_, index) => `${prefix}${index}`);
  return urls.flatMap((url) => names.filter((name) => byAffinity(urls, name)[0] === url).slice(0, count));
}

export interface ChunkParts {
  readonly delta?: JsonObject;
  readonly finish?: string;
  readonly ids?: number[];
  readonly logprobs?: number[];
  readonly top?: JsonObject;
}

/** One chunk as vLLM sends it. */
export function chunk({ delta = {}, finish, ids, logprobs, top = {} }: ChunkParts): JsonObject {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        delta,
        finish_reason: finish ?? null,
        logprobs:
          logprobs === undefined
            ? null
            : { content: logprobs.map((logprob) => ({ token: 't', logprob, bytes: [116], top_logprobs: [] })) },
        ...(ids === undefined ? {} : { token_ids: ids }),
      },
    ],
    ...top,
  };
}

export function usageChunk(prompt: number, completion: number, more: JsonObject = {}): JsonObject {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [],
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...more },
  };
}

export function sse(chunks: readonly JsonObject[], done = true): string {
  return chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('') + (done ? 'data: [DONE]\n\n' : '');
}

export function answerStream(response: ServerResponse, chunks: readonly JsonObject[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.end(sse(chunks));
}

/** A streamed answer with one text. */
export function answerText(response: ServerResponse, text: string): void {
  answerStream(response, [
    chunk({ delta: { role: 'assistant', content: '' } }),
    chunk({ delta: { content: text } }),
    chunk({ finish: 'stop' }),
    usageChunk(3, 2),
  ]);
}

export function refuse(
  response: ServerResponse,
  status: number,
  error: JsonObject,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error }));
}
