/** When replies are streamed, and that a whole reply says the same as a streamed one. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../src/common/json.ts';
import type { SubmittedModel } from '../../../src/config/submission.ts';
import { wholeReplyMs } from '../../../src/model/call.ts';
import { createModelClient, type EndpointReport } from '../../../src/model/client.ts';
import { ModelConnections } from '../../../src/model/connections.ts';
import type { TransportOptions } from '../../../src/model/http/transport.ts';
import { PermitGate } from '../../../src/model/permits.ts';
import { Replicas } from '../../../src/model/replicas.ts';
import type { ModelReply, ModelRequest } from '../../../src/rollout/ports.ts';
import {
  answerStream,
  answerText,
  chunk,
  fakeEndpoint,
  refuse,
  type Script,
  usageChunk,
} from '../../support/endpoint.ts';

/** Calls of one model at one endpoint. */
class Caller implements AsyncDisposable {
  readonly reports: EndpointReport[] = [];
  readonly deltas: string[] = [];
  watched = false;
  readonly #connections: ModelConnections;
  readonly #gate = new PermitGate({ random: () => 0 });
  readonly #url: string;
  readonly #model: Partial<SubmittedModel>;

  constructor(url: string, model: Partial<SubmittedModel> = {}, options: TransportOptions = {}) {
    this.#url = url;
    this.#model = model;
    this.#connections = new ModelConnections(options);
  }

  call(request: Partial<ModelRequest> = {}): Promise<ModelReply> {
    const client = createModelClient(
      {
        endpoints: [this.#url],
        name: 'm',
        headers: {},
        sampling: {},
        capture: { token_ids: false, logprobs: false },
        endpoint_wait_seconds: 20,
        ...this.#model,
      },
      {
        connections: this.#connections,
        gate: this.#gate,
        replicas: new Replicas(),
        report: (report) => this.reports.push(report),
        affinity: 'task',
        demoUrl: () => '',
        now: () => Date.now(),
        random: () => 0,
      },
    );
    return client.complete(
      {
        endpoint: this.#url,
        model: 'm',
        messages: [{ m: 1, role: 'user', parts: [{ type: 'text', content: 'hi' }] }],
        tools: [TOOL],
        sampling: {},
        seed: 1,
        capture: { token_ids: true, logprobs: true },
        ...request,
      },
      {
        signal: new AbortController().signal,
        watched: () => this.watched,
        onDelta: (text) => this.deltas.push(text),
      },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#gate.close();
    await this.#connections.close();
  }
}

const TOOL: ModelRequest['tools'][number] = {
  name: 'f',
  description: 'd',
  parameters: { type: 'object' },
  effect: 'pure',
  sessionBound: false,
  from: { kind: 'builtin', name: 'x' },
};

interface Said {
  readonly reasoning?: string;
  readonly content?: string;
  readonly calls?: readonly (readonly [id: string, args: string])[];
  readonly finish: string;
}

/** Replies in the form that was requested, as vLLM does: one token per character of what it says. */
function says({ reasoning = '', content = '', calls = [], finish }: Said): Script {
  const pieces: JsonObject[] = [
    ...Array.from(reasoning, (text) => ({ reasoning: text })),
    ...Array.from(content, (text) => ({ content: text })),
    ...calls.flatMap(([id, args], index) => [
      { tool_calls: [{ index, id, type: 'function', function: { name: 'f' } }] },
      ...Array.from(args, (text) => ({ tool_calls: [{ index, function: { arguments: text } }] })),
    ]),
  ];
  // The last one ends the reply.
  const ids = [...pieces.map((_, at) => at + 100), 2];
  const logprobs = ids.map((_, at) => -at / 8);
  const usage = { prompt_tokens_details: { cached_tokens: 2 } };
  return ({ body }, response) => {
    if (body['stream'] === true) {
      answerStream(response, [
        chunk({ delta: { role: 'assistant', content: '' }, top: { prompt_token_ids: [1, 2, 3] } }),
        ...pieces.map((delta, at) => chunk({ delta, ids: [ids[at]!], logprobs: [logprobs[at]!] })),
        chunk({ finish, ids: [2], logprobs: [logprobs.at(-1)!] }),
        usageChunk(3, ids.length, usage),
      ]);
      return;
    }
    json(response, {
      prompt_token_ids: [1, 2, 3],
      choices: [
        {
          message: {
            role: 'assistant',
            content: content === '' ? null : content,
            ...(reasoning === '' ? {} : { reasoning }),
            ...(calls.length === 0
              ? {}
              : {
                  tool_calls: calls.map(([id, args]) => ({
                    id,
                    type: 'function',
                    function: { name: 'f', arguments: args },
                  })),
                }),
          },
          finish_reason: finish,
          token_ids: ids,
          logprobs: { content: logprobs.map((logprob) => ({ token: 't', logprob })) },
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: ids.length, total_tokens: 3 + ids.length, ...usage },
    });
  };
}

function json(response: ServerResponse, body: JsonObject): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** What is recorded of a reply, apart from times. */
function record(reply: ModelReply): unknown {
  const { tokens } = reply;
  const logprobs = [...(tokens?.logprobs ?? [])];
  return { ...reply, ms: 0, firstMs: 0, queueMs: 0, tokens: { ...tokens, logprobs } };
}

const REPLIES: Readonly<Record<string, Said>> = {
  text: { content: 'hello there', finish: 'stop' },
  'reasoning and text': { reasoning: 'hm, let me see', content: 'yes', finish: 'stop' },
  'text and two calls': {
    content: 'I look.',
    calls: [
      ['c1', '{"a":1}'],
      ['c2', '{}'],
    ],
    finish: 'tool_calls',
  },
  'a call that does not parse': { calls: [['c1', '{"a":']], finish: 'tool_calls' },
  'a call that was cut off': { content: 'So <tool_call>\n{"name": "f", "argum', finish: 'length' },
  'characters of several units': { content: '😀 é 漢\u2028', finish: 'stop' },
  nothing: { finish: 'stop' },
};

describe('model.stream', () => {
  for (const [name, said] of Object.entries(REPLIES)) {
    it(`records the same for a whole reply as for a streamed one: ${name}`, async () => {
      await using endpoint = await fakeEndpoint(says(said));
      await using streamed = new Caller(endpoint.url, { stream: 'always' });
      await using whole = new Caller(endpoint.url, { stream: 'never' });
      assert.deepEqual(record(await whole.call()), record(await streamed.call()));
      assert.deepEqual(
        endpoint.seen.map(({ body }) => body['stream']),
        [undefined, true],
      );
      assert.equal(whole.deltas.join(''), '');
    });
  }

  it('streams by default only while somebody watches, also from the middle of an attempt', async () => {
    await using endpoint = await fakeEndpoint(says({ content: 'hello', finish: 'stop' }));
    await using caller = new Caller(endpoint.url);
    const whole = await caller.call();
    caller.watched = true;
    const streamed = await caller.call();
    caller.watched = false;
    await caller.call();
    assert.deepEqual(
      endpoint.seen.map(({ body }) => body['stream']),
      [undefined, true, undefined],
    );
    assert.equal(caller.deltas.join(''), 'hello');
    assert.deepEqual([whole.firstMs, typeof streamed.firstMs], [undefined, 'number']);
  });

  it('says when the first token came if the engine reports it', async () => {
    await using endpoint = await fakeEndpoint((_, response) =>
      json(response, {
        choices: [{ message: { content: 'x' }, finish_reason: 'stop' }],
        metrics: { time_to_first_token_ms: 12.5, queue_time_ms: 3 },
      }),
    );
    await using caller = new Caller(endpoint.url);
    const { firstMs, queueMs } = await caller.call();
    assert.deepEqual([firstMs, queueMs], [12.5, 3]);
  });

  it('handles an error in the body of a whole reply as one in a stream', async () => {
    for (const stream of ['always', 'never'] as const) {
      await using endpoint = await fakeEndpoint((_, response, nth) => {
        const error = { error: { message: 'EngineCore encountered an issue.', code: 500 } };
        if (nth > 1) answerText(response, 'better');
        else if (stream === 'always') answerStream(response, [error]);
        else json(response, error);
      });
      await using caller = new Caller(endpoint.url, { stream });
      const { parts, retries } = await caller.call();
      assert.deepEqual([parts, retries.map((retry) => retry.class)], [[{ type: 'text', content: 'better' }], ['500']]);
    }
  });

  it('repeats a whole reply whose connection was cut', async () => {
    await using endpoint = await fakeEndpoint((request, response, nth) => {
      if (nth > 1) return says({ content: 'all', finish: 'stop' })(request, response, nth);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 });
      response.write('{"choices":', () => response.destroy());
      return undefined;
    });
    await using caller = new Caller(endpoint.url);
    const { parts, retries } = await caller.call();
    assert.deepEqual([parts, retries.map((retry) => retry.class)], [[{ type: 'text', content: 'all' }], ['cut']]);
  });

  it('streams the replies of an endpoint that took too long for a whole one, which is no failure of it', async () => {
    await using endpoint = await fakeEndpoint((request, response, nth) => {
      if (request.body['stream'] === true) return says({ content: 'slow', finish: 'stop' })(request, response, nth);
      return undefined; // never
    });
    await using caller = new Caller(endpoint.url, {}, { wholeReplyMs: 50 });
    const { parts, retries } = await caller.call();
    assert.deepEqual([parts, retries.map((retry) => retry.class)], [[{ type: 'text', content: 'slow' }], ['timeout']]);
    await caller.call();
    assert.deepEqual(
      endpoint.seen.map(({ body }) => body['stream']),
      [undefined, true, true],
    );
    assert.deepEqual([...new Set(caller.reports.map(({ what }) => what))], ['ok']);
  });

  it('reports an endpoint that hangs, whether replies are streamed or not', async () => {
    for (const stream of ['auto', 'never', 'always'] as const) {
      await using endpoint = await fakeEndpoint((request, response, nth) => {
        if (nth > 2) return says({ content: 'again', finish: 'stop' })(request, response, nth);
        if (request.body['stream'] === true)
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': \n');
        return undefined; // then silence
      });
      await using caller = new Caller(endpoint.url, { stream }, { wholeReplyMs: 50, bodyTimeoutMs: 50 });
      const { retries } = await caller.call();
      assert.deepEqual(
        retries.map((retry) => retry.class),
        ['timeout', 'timeout'],
        stream,
      );
      assert.ok(
        caller.reports.some(({ what }) => what === 'down'),
        stream,
      );
    }
  });

  it('accepts what the endpoint sends instead', async () => {
    await using streams = await fakeEndpoint((_, response) => answerText(response, 'in pieces'));
    await using never = new Caller(streams.url, { stream: 'never' });
    assert.deepEqual((await never.call()).parts, [{ type: 'text', content: 'in pieces' }]);
    await using refuses = await fakeEndpoint((_, response, nth) =>
      nth === 1 ? refuse(response, 503, { message: 'busy' }) : answerText(response, 'then'),
    );
    await using waiting = new Caller(refuses.url);
    assert.deepEqual((await waiting.call()).parts, [{ type: 'text', content: 'then' }]);
  });

  it('allows a whole reply the time of the longest one, within half an hour', () => {
    assert.equal(wholeReplyMs({ max_tokens: 4_000 }), 500_000);
    assert.equal(wholeReplyMs({ extra: { max_completion_tokens: 2_000 } }), 400_000);
    assert.equal(wholeReplyMs({}), 504_800);
    assert.equal(wholeReplyMs({ max_tokens: 100_000 }), 1_800_000);
  });
});
