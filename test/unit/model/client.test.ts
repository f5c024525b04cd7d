import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { SubmittedModel } from '../../../src/config/submission.ts';
import type { EndpointReport } from '../../../src/model/client.ts';
import { createModelClient } from '../../../src/model/client.ts';
import { ModelConnections } from '../../../src/model/connections.ts';
import { PermitGate } from '../../../src/model/permits.ts';
import { Replicas } from '../../../src/model/replicas.ts';
import type { ModelCallContext, ModelReply, ModelRequest } from '../../../src/rollout/ports.ts';
import type { FakeEndpoint, Script } from '../../support/endpoint.ts';
import { answerStream, answerText, chunk, fakeEndpoint, refuse, sse, usageChunk } from '../../support/endpoint.ts';

const connections = new ModelConnections();
after(() => connections.close());

interface Setup {
  readonly endpoints: readonly string[];
  readonly model?: Partial<SubmittedModel>;
  readonly request?: Partial<ModelRequest>;
  readonly context?: Partial<ModelCallContext>;
  readonly demoUrl?: string;
}

interface Outcome {
  readonly reports: EndpointReport[];
  readonly waits: boolean[];
  readonly gate: PermitGate;
  readonly reply: Promise<ModelReply>;
}

function call({
  endpoints,
  model = {},
  request = {},
  context = {},
  demoUrl = 'http://127.0.0.1:1/demo',
}: Setup): Outcome {
  const reports: EndpointReport[] = [];
  const waits: boolean[] = [];
  const gate = new PermitGate({ random: () => 0 });
  const client = createModelClient(
    {
      endpoints: [...endpoints],
      name: 'm',
      headers: {},
      sampling: {},
      capture: { token_ids: false, logprobs: false },
      endpoint_wait_seconds: 20,
      stream: 'always',
      ...model,
    },
    {
      connections,
      gate,
      replicas: new Replicas(),
      report: (report) => reports.push(report),
      affinity: 'task',
      demoUrl: () => demoUrl,
      now: () => Date.now(),
      random: () => 0,
    },
  );
  const reply = client.complete(
    {
      endpoint: endpoints[0] ?? '',
      model: 'm',
      messages: [{ m: 1, role: 'user', parts: [{ type: 'text', content: 'hi' }] }],
      tools: [],
      sampling: {},
      seed: 1,
      capture: { token_ids: false, logprobs: false },
      ...request,
    },
    { signal: new AbortController().signal, onWait: (waiting) => waits.push(waiting), ...context },
  );
  void reply.catch(() => undefined).finally(() => gate.close());
  return { reports, waits, gate, reply };
}

const TOOL: ModelRequest['tools'] = [
  {
    name: 'f',
    description: 'd',
    parameters: { type: 'object' },
    effect: 'pure',
    sessionBound: false,
    from: { kind: 'builtin', name: 'x' },
  },
];

async function one(
  script: Script,
  setup: Omit<Setup, 'endpoints'> = {},
): Promise<Outcome & { endpoint: FakeEndpoint; reply: Promise<ModelReply> }> {
  const endpoint = await fakeEndpoint(script);
  const outcome = call({ endpoints: [endpoint.url], ...setup });
  void outcome.reply.catch(() => undefined).finally(() => void endpoint[Symbol.asyncDispose]());
  return { ...outcome, endpoint };
}

describe('createModelClient: answers', () => {
  it('returns the streamed answer, with usage and times', async () => {
    const { reply, reports, endpoint, waits } = await one((_, response) => answerText(response, 'hello'));
    const answer = await reply;
    assert.deepEqual(answer.parts, [{ type: 'text', content: 'hello' }]);
    assert.equal(answer.finishReason, 'stop');
    assert.deepEqual(answer.usage, { input_tokens: 3, output_tokens: 2 });
    assert.deepEqual(answer.retries, []);
    assert.ok(answer.ms > 0 && answer.firstMs !== undefined && answer.firstMs <= answer.ms);
    assert.deepEqual(
      reports.map((report) => report.what),
      ['ok'],
    );
    assert.deepEqual(waits, []);
    const [seen] = endpoint.seen;
    assert.equal(seen?.path, '/v1/chat/completions');
    assert.equal(seen.headers['authorization'], undefined, 'no key, no header');
  });

  it('sends the key and the headers, and the query of a demo endpoint', async () => {
    await using endpoint = await fakeEndpoint((_, response) => answerText(response, 'x'));
    await call({
      endpoints: ['demo:?latency_ms=5'],
      model: { api_key: 'k1', headers: { 'x-team': 'blue' }, session_header: 'X-Session-Id' },
      demoUrl: endpoint.url.replace('/v1', '/demo'),
    }).reply;
    assert.equal(endpoint.seen[0]?.path, '/demo/v1/chat/completions?latency_ms=5');
    assert.equal(endpoint.seen[0].headers['authorization'], 'Bearer k1');
    assert.equal(endpoint.seen[0].headers['x-team'], 'blue');
    assert.match(String(endpoint.seen[0].headers['x-session-id']), /^[0-9a-f]{16}$/);
  });

  it('captures token IDs and log probabilities as the engine sent them', async () => {
    const { reply, endpoint } = await one(
      (_, response) =>
        answerStream(response, [
          chunk({ delta: { role: 'assistant', content: '' }, top: { prompt_token_ids: [5, 6] } }),
          chunk({ delta: { content: 'a' }, ids: [7], logprobs: [-0.125] }),
          chunk({ finish: 'stop', ids: [8], logprobs: [-2] }),
          usageChunk(2, 2),
        ]),
      { request: { capture: { token_ids: true, logprobs: true } } },
    );
    const { tokens, whyNot } = await reply;
    assert.deepEqual(
      { ...tokens, logprobs: [...(tokens?.logprobs ?? [])] },
      { prompt: [5, 6], completion: [7, 8], logprobs: [-0.125, -2] },
    );
    assert.equal(whyNot, undefined);
    assert.equal(endpoint.seen[0]?.body['return_token_ids'], true);
  });

  it('continues without capture when it is ignored or refused, and reports that', async () => {
    const capture = { capture: { token_ids: true, logprobs: true } };
    const ignored = await one((_, response) => answerText(response, 'x'), { request: capture });
    assert.match((await ignored.reply).whyNot ?? '', /returns no token IDs/);
    const refused = await one(
      (seen, response) =>
        'return_token_ids' in seen.body
          ? refuse(response, 400, { message: 'Unrecognized request argument supplied: return_token_ids' })
          : answerText(response, 'x'),
      { request: capture },
    );
    const answer = await refused.reply;
    assert.match(answer.whyNot ?? '', /rejects return_token_ids/);
    assert.equal(answer.tokens, undefined);
    assert.equal(refused.endpoint.seen.length, 2);
  });

  it('does without the usage chunk when stream_options is refused', async () => {
    const { reply, endpoint } = await one((seen, response) =>
      'stream_options' in seen.body
        ? refuse(response, 422, { message: 'extra fields not permitted: stream_options' })
        : answerStream(response, [chunk({ delta: { content: 'x' } }), chunk({ finish: 'stop' })]),
    );
    assert.equal((await reply).usage, undefined);
    assert.equal(endpoint.seen.length, 2);
  });

  it('accepts a whole answer from an endpoint that does not stream', async () => {
    const { reply } = await one((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }] }),
      );
    });
    assert.deepEqual((await reply).parts, [{ type: 'text', content: 'whole' }]);
  });

  it('reports the text as it arrives, coalesced', async () => {
    const deltas: string[] = [];
    const words = Array.from({ length: 300 }, (_, n) => `word${n} `);
    const { reply } = await one(
      (_, response) =>
        answerStream(response, [...words.map((content) => chunk({ delta: { content } })), chunk({ finish: 'stop' })]),
      { context: { onDelta: (text) => deltas.push(text) } },
    );
    await reply;
    assert.equal(deltas.join(''), words.join(''));
    assert.ok(deltas.length < 10, `${deltas.length} deltas`);
  });

  it('reports pending text after a while, even if no more arrives', async () => {
    let report: (text: string) => void = () => undefined;
    const first = new Promise<string>((resolve) => (report = resolve));
    let end: () => void = () => undefined;
    const { reply } = await one(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(sse([chunk({ delta: { content: 'slow' } })], false));
        end = () => response.end(sse([chunk({ finish: 'stop' })]));
      },
      { context: { onDelta: (text) => report(text) } },
    );
    assert.equal(await first, 'slow');
    end();
    await reply;
  });
});

describe('createModelClient: trouble', () => {
  it('waits out 429 and 503 and reports it to the server, while limits do not count', async () => {
    const { reply, reports, waits } = await one((_, response, nth) => {
      if (nth === 1) refuse(response, 429, { message: 'slow down' }, { 'retry-after': '0.3' });
      else if (nth === 2) refuse(response, 503, { message: 'The engine is currently busy' });
      else answerText(response, 'at last');
    });
    const answer = await reply;
    assert.deepEqual(
      answer.retries.map((retry) => retry.class),
      ['429', '503'],
    );
    assert.ok((answer.retries[0]?.ms ?? 0) >= 300, 'Retry-After is honoured');
    assert.deepEqual(
      reports.map(({ what, retry_after_ms: ms }) => ({ what, ms })),
      [
        { what: 'busy', ms: 300 },
        { what: 'busy', ms: undefined },
        { what: 'ok', ms: undefined },
      ],
    );
    assert.deepEqual(waits, [true, false, true, false]);
  });

  it('waits for an endpoint that is not up yet', async () => {
    const reserved = await fakeEndpoint(() => undefined);
    await reserved[Symbol.asyncDispose]();
    const { reply, reports } = call({ endpoints: [reserved.url] });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await using back = await fakeEndpoint((_, response) => answerText(response, 'here'), reserved.port);
    const answer = await reply;
    assert.equal(back.seen.length, 1);
    assert.equal(answer.retries[0]?.class, 'refused');
    assert.equal(reports[0]?.what, 'down');
  });

  it('retries when a stream is cut in the middle, and reports what arrived of it', async () => {
    const words = Array.from({ length: 50 }, (_, n) => ` half${n}`);
    const deltas: string[] = [];
    const { reply } = await one(
      (_, response, nth) => {
        if (nth > 1) {
          answerText(response, 'whole');
          return;
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const cut = sse(
          words.map((content) => chunk({ delta: { content } })),
          false,
        );
        response.write(cut + cut.slice(0, 40), () => response.destroy());
      },
      { context: { onDelta: (text) => deltas.push(text) } },
    );
    const answer = await reply;
    assert.equal(deltas.join(''), `${words.join('')}whole`);
    assert.deepEqual(answer.parts, [{ type: 'text', content: 'whole' }]);
    assert.deepEqual(
      answer.retries.map((retry) => retry.class),
      ['cut'],
    );
  });

  it('retries when a stream ends early, silently or with the error of a dying engine', async () => {
    const { reply } = await one((_, response, nth) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (nth === 1) response.end(sse([chunk({ delta: { content: 'half' } })], false));
      else if (nth === 2)
        response.end(
          sse([{ error: { message: 'EngineCore encountered an issue.', type: 'InternalServerError', code: 500 } }]),
        );
      else response.end(sse([chunk({ delta: { content: 'whole' } }), chunk({ finish: 'stop' })]));
    });
    assert.deepEqual(
      (await reply).retries.map((retry) => retry.class),
      ['cut', '500'],
    );
  });

  it('retries when the engine itself aborted the answer cleanly', async () => {
    const { reply, reports } = await one((_, response, nth) =>
      nth === 1
        ? answerStream(response, [chunk({ delta: { content: 'half' } }), chunk({ finish: 'abort' }), usageChunk(3, 1)])
        : answerText(response, 'whole'),
    );
    const answer = await reply;
    assert.deepEqual(answer.parts, [{ type: 'text', content: 'whole' }]);
    assert.deepEqual(
      answer.retries.map((retry) => retry.class),
      ['aborted'],
    );
    assert.deepEqual(
      reports.map(({ what }) => what),
      ['ok', 'down', 'ok'],
    );
  });

  it('gives up after endpoint_wait_seconds, as infrastructure', async () => {
    const { reply, waits } = await one((_, response) => refuse(response, 500, { message: 'boom' }), {
      model: { endpoint_wait_seconds: 0.4 },
    });
    await assert.rejects(reply, {
      name: 'ClassedError',
      class: 'infrastructure',
      message: /did not respond for 0\.4 s.*boom/,
    });
    assert.equal(waits.at(-1), false);
  });

  it('gives up waiting for a probe, too', async () => {
    const endpoint = 'http://127.0.0.1:9/v1';
    const { gate, reply } = call({ endpoints: [endpoint], model: { endpoint_wait_seconds: 0.2 } });
    gate.setPermits({ [endpoint]: 0 });
    await assert.rejects(reply, { class: 'infrastructure' });
  });

  it('switches to another replica immediately', async () => {
    await using good = await fakeEndpoint((_, response) => answerText(response, 'b'));
    await using bad = await fakeEndpoint((_, response) => refuse(response, 503, { message: 'full' }));
    const { reply } = call({ endpoints: [bad.url, good.url] });
    const answer = await reply;
    assert.deepEqual(answer.parts, [{ type: 'text', content: 'b' }]);
    assert.ok((answer.retries[0]?.ms ?? Infinity) < 150);
  });

  it('requests an unreadable answer three times', async () => {
    const { reply, endpoint } = await one((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('data: {"choices": [\n\n');
    });
    await assert.rejects(reply, { class: 'malformed_output' });
    assert.equal(endpoint.seen.length, 3);
  });

  it('reports that the input is too long', async () => {
    for (const error of [
      {
        message:
          "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input " +
          'tokens',
        param: 'input_tokens',
        code: 400,
      },
      { message: 'too much', code: 'context_length_exceeded' },
      { message: 'The prompt is too long: 9000 tokens' },
    ]) {
      const { reply } = await one((_, response) => refuse(response, 400, error));
      await assert.rejects(reply, { class: 'context_overflow' }, error.message);
    }
    const { reply } = await one(
      (_, response) =>
        refuse(response, 400, {
          message:
            "This model's maximum context length is 2048 tokens. However, you requested 2100 tokens (1900 in the " +
            'messages, 200 in the completion).',
        }),
      { request: { sampling: { max_tokens: 200 } } },
    );
    await assert.rejects(reply, { class: 'context_overflow', message: /too long for m: .*2048 tokens/ });
  });

  it('reports that no reply may be that long, and stops the batch: no call would pass', async () => {
    for (const error of [
      {
        message: 'max_tokens=8192 cannot be greater than max_model_len=2048. Please request fewer output tokens.',
        param: 'max_tokens',
      },
      {
        message:
          "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is " +
          '2048 tokens and your request has 11 input tokens (8192 > 2048 - 11).',
      },
      {
        message: 'max_tokens is too large: 8192. This model supports at most 4096 completion tokens.',
        param: 'max_tokens',
      },
    ]) {
      const { reply, reports } = await one((_, response) => refuse(response, 400, error), {
        request: { sampling: { max_tokens: 8192 } },
      });
      await assert.rejects(
        reply,
        { class: 'infrastructure', message: /model\.sampling\.max_tokens .*8192.*Decrease it.*--max-model-len/ },
        error.message,
      );
      assert.deepEqual(
        reports.map(({ what, text }) => [what, text?.includes('Decrease it')]),
        [['missing', true]],
      );
    }
    const zero = await one(
      (_, response) => refuse(response, 400, { message: 'max_tokens must be at least 1, got 0.', param: 'max_tokens' }),
      { request: { sampling: { max_tokens: 0 } } },
    );
    await assert.rejects(zero.reply, { class: 'model_error', message: /must be at least 1/ });
  });

  it('says what to do about a wrong key, a wrong model, a wrong address', async () => {
    const denied = await one((_, response) => refuse(response, 401, { message: 'Incorrect API key provided' }));
    await assert.rejects(denied.reply, {
      class: 'infrastructure',
      message: /rejected the API key \(401\): Incorrect API key provided\. Check model\.api_key/,
    });
    // The server gets the same message, because it stops the batch with it.
    assert.deepEqual(
      denied.reports.map(({ what, text }) => [what, text?.includes('Check model.api_key')]),
      [['denied', true]],
    );

    const missing = await one((seen, response) => {
      if (seen.path !== '/v1/models') {
        refuse(response, 404, { message: 'The model `m` does not exist.' });
        return;
      }
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'desk' }, { id: 'other' }] }));
    });
    await assert.rejects(missing.reply, {
      class: 'infrastructure',
      message: /does not exist.*desk, other.*model\.name/,
    });
    assert.equal(missing.reports[0]?.what, 'missing');

    const nowhere = await one((_, response) => {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end('{"detail":"Not Found"}');
    });
    await assert.rejects(nowhere.reply, { class: 'infrastructure', message: /Not Found.*\/v1/ });

    const nonsense = call({ endpoints: ['not a url'] });
    await assert.rejects(nonsense.reply, { class: 'infrastructure', message: /model\.endpoint/ });
  });

  it('reports that tools are not supported', async () => {
    const { reply, reports } = await one(
      (_, response) =>
        refuse(response, 400, {
          message: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        }),
      { request: { tools: TOOL } },
    );
    await assert.rejects(reply, { class: 'infrastructure', message: /does not support tools/ });
    assert.equal(reports[0]?.what, 'missing');
  });

  it('leaves a refusal to the call itself once the endpoint has answered', async () => {
    await using endpoint = await fakeEndpoint((_, response, nth) =>
      nth === 1 ? answerText(response, 'fine') : refuse(response, 403, { message: 'no more' }),
    );
    await call({ endpoints: [endpoint.url] }).reply;
    await assert.rejects(call({ endpoints: [endpoint.url] }).reply, { class: 'model_error', message: /no more/ });
  });

  it('is cancelled within a second: while streaming, in back-off, without a response', async () => {
    const scripts: Script[] = [
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(sse([chunk({ delta: { content: 'half' } })], false));
      },
      (_, response) => refuse(response, 429, { message: 'later' }, { 'retry-after': '60' }),
      () => undefined,
    ];
    for (const script of scripts) {
      const abort = new AbortController();
      const { reply, endpoint } = await one(script, { context: { signal: abort.signal } });
      while (endpoint.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await new Promise((resolve) => setTimeout(resolve, 20));
      const began = performance.now();
      abort.abort();
      await assert.rejects(reply, { class: 'cancelled' });
      assert.ok(performance.now() - began < 500);
    }
  });

  it('closes the connection when it is cancelled', async () => {
    const abort = new AbortController();
    let closed: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const { reply } = await one(
      (_, response) => {
        response.on('close', closed);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(sse([chunk({ delta: { content: 'half' } })], false), () => abort.abort());
      },
      { context: { signal: abort.signal } },
    );
    await assert.rejects(reply, { class: 'cancelled' });
    await gone;
  });
});
