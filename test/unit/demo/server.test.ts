import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { tokenize } from '../../../src/demo/text/tokenizer.ts';
import { type DemoServer, startDemoServer } from '../../support/demoServer.ts';

const QUESTION = [
  { role: 'user', content: 'call renew {"title": "Pål’s Road"}\nand look {"at": [1, 2]}\nsay Both at once.' },
];
const TOOLS = [
  { type: 'function', function: { name: 'renew', description: 'Renews.', parameters: { type: 'object' } } },
];
const BODY = { model: 'demo', messages: QUESTION, tools: TOOLS, seed: 7, temperature: 1 };

interface Delta {
  role?: string;
  content?: string;
  reasoning?: string;
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments?: string } }[];
}
interface Chunk {
  choices: {
    delta: Delta;
    finish_reason: string | null;
    token_ids?: number[];
    logprobs: { content: unknown[] } | null;
  }[];
  prompt_token_ids?: number[];
  usage?: object;
}
interface Whole {
  choices: {
    message: {
      content: string | null;
      reasoning?: string;
      tool_calls?: { id: string; function: { name: string; arguments: string } }[];
    };
    finish_reason: string;
    token_ids: number[] | null;
    logprobs: { content: { token: string; logprob: number; top_logprobs: unknown[] }[] } | null;
  }[];
  usage: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details: { cached_tokens: number } };
  prompt_token_ids: number[] | null;
}

describe('the demo server', () => {
  let server: DemoServer;
  before(async () => void (server = await startDemoServer()));
  after(() => server.close());

  const post = (body: object, query = '', headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${server.url}/chat/completions${query}`, { method: 'POST', body: JSON.stringify(body), headers });
  const whole = async (body: object, query = ''): Promise<Whole> => (await (await post(body, query)).json()) as Whole;
  const errorOf = async (
    body: object,
    query = '',
  ): Promise<{
    status: number;
    error: { message: string; type: string; param: string | null };
    retry: string | null;
  }> => {
    const answer = await post(body, query);
    return {
      status: answer.status,
      retry: answer.headers.get('retry-after'),
      ...((await answer.json()) as { error: { message: string; type: string; param: string | null } }),
    };
  };
  const events = async (body: object, query = ''): Promise<{ chunks: Chunk[]; done: boolean }> => {
    const text = await (await post({ ...body, stream: true }, query)).text();
    const data = text
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => event.replace(/^data: /, ''));
    const done = data.at(-1) === '[DONE]';
    return { chunks: (done ? data.slice(0, -1) : data).map((chunk) => JSON.parse(chunk) as Chunk), done };
  };
  const metric = async (name: string, query: string): Promise<number> => {
    const text = await (await fetch(`${server.url.replace(/\/v1$/, '')}/metrics${query}`)).text();
    return Number(new RegExp(`^vllm:${name}\\{[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1] ?? assert.fail(name));
  };

  it('returns a whole answer with calls, usage, IDs, and logprobs', async () => {
    const {
      choices: [choice],
      usage,
      prompt_token_ids,
    } = await whole({ ...BODY, return_token_ids: true, logprobs: true, top_logprobs: 2 });
    assert.equal(choice?.finish_reason, 'tool_calls');
    assert.equal(choice.message.content, 'Both at once.');
    assert.deepEqual(
      choice.message.tool_calls?.map((call) => call.function),
      [
        { name: 'renew', arguments: '{"title": "Pål’s Road"}' },
        { name: 'look', arguments: '{"at": [1, 2]}' },
      ],
    );
    assert.equal(new Set(choice.message.tool_calls.map((call) => call.id)).size, 2);
    assert.equal(choice.token_ids?.length, usage.completion_tokens);
    assert.equal(prompt_token_ids?.length, usage.prompt_tokens);
    assert.equal(choice.logprobs?.content.length, usage.completion_tokens);
    assert.ok(choice.logprobs.content.every(({ logprob, top_logprobs }) => logprob <= 0 && top_logprobs.length === 2));
    assert.match(
      choice.logprobs.content.map(({ token }) => token).join(''),
      new RegExp(
        String.raw`^<think>I follow the directions\.</think>Both at once\.<tool_call>\{"name": "renew", ` +
          String.raw`"arguments": \{"title": "Pål’s Road"\}\}</tool_call>`,
      ),
    );
  });

  it('omits what was not requested and what does not exist', async () => {
    const {
      choices: [choice],
      prompt_token_ids,
    } = await whole({ ...BODY, messages: [{ role: 'user', content: 'answer yes' }] });
    assert.deepEqual([choice?.token_ids, choice?.logprobs, prompt_token_ids], [null, null, null]);
    assert.equal(Object.hasOwn(choice!.message, 'tool_calls'), false);
  });

  it('streams the same answer in fragments', async () => {
    const request = { ...BODY, return_token_ids: true, logprobs: true, stream_options: { include_usage: true } };
    const expected = await whole(request);
    for (const query of ['', '?chunks=1', '?chunks=30']) {
      const { chunks, done } = await events(request, query);
      const same = query === '?chunks=30' ? await whole(request, query) : expected; // the number of reasoning chunks
      const [message] = same.choices;
      assert.ok(done);
      assert.deepEqual(chunks[0]?.choices[0]?.delta, { role: 'assistant', content: '' });
      assert.deepEqual(chunks[0].prompt_token_ids, same.prompt_token_ids);
      const deltas = chunks.flatMap((chunk) => chunk.choices);
      const joined = (of: (delta: Delta) => string | undefined): string =>
        deltas.map((choice) => of(choice.delta) ?? '').join('');
      assert.equal(
        joined((delta) => delta.content),
        message?.message.content,
      );
      assert.equal(
        joined((delta) => delta.reasoning),
        message?.message.reasoning,
      );
      for (const [index, call] of (message?.message.tool_calls ?? []).entries()) {
        const parts = deltas.flatMap((choice) => choice.delta.tool_calls ?? []).filter((part) => part.index === index);
        assert.deepEqual(parts[0], { id: call.id, type: 'function', index, function: { name: call.function.name } });
        assert.equal(
          parts
            .slice(1)
            .map((part) => part.function.arguments ?? '')
            .join(''),
          call.function.arguments,
        );
      }
      assert.deepEqual(
        deltas.flatMap((choice) => choice.token_ids ?? []),
        message?.token_ids,
      );
      assert.deepEqual(
        deltas.flatMap((choice) => choice.logprobs?.content ?? []),
        message?.logprobs?.content,
      );
      assert.equal(deltas.at(-1)?.finish_reason, 'tool_calls');
      assert.deepEqual(chunks.at(-1)?.choices, []);
      assert.deepEqual(chunks.at(-1)?.usage, same.usage);
    }
  });

  it('streams the requested number of chunks', async () => {
    for (const chunks of [20, 200]) {
      const { chunks: sent } = await events(
        { ...BODY, messages: [{ role: 'user', content: 'answer Done.' }] },
        `?chunks=${chunks}`,
      );
      assert.equal(sent.length, chunks + 2, 'the role before, the finish reason after');
    }
  });

  it('repeats itself for the same seed', async () => {
    const [a, b, c] = await Promise.all(
      [7, 7, 8].map(async (seed) => JSON.stringify((await whole({ ...BODY, seed, logprobs: true })).choices)),
    );
    assert.equal(a, b);
    assert.notEqual(a, c);
  });

  it('reports which prompt tokens are cached', async () => {
    assert.equal((await whole(BODY)).usage.prompt_tokens_details.cached_tokens, 0);
    const later = await whole({
      ...BODY,
      messages: [...QUESTION, { role: 'assistant', content: 'x'.repeat(64) }, { role: 'user', content: 'answer 1' }],
    });
    const { cached_tokens } = later.usage.prompt_tokens_details;
    assert.ok(cached_tokens > 0 && cached_tokens % 16 === 0 && cached_tokens < later.usage.prompt_tokens);
  });

  it('truncates at max_tokens', async () => {
    const {
      choices: [choice],
      usage,
    } = await whole({ ...BODY, max_tokens: 9 });
    assert.deepEqual(
      [choice?.finish_reason, usage.completion_tokens, choice?.message.tool_calls],
      ['length', 9, undefined],
    );
  });

  it('tokenizes as it counts', async () => {
    const answer = await fetch(`${server.url.replace(/\/v1$/, '')}/tokenize`, {
      method: 'POST',
      body: JSON.stringify({ messages: QUESTION, tools: TOOLS }),
    });
    const { tokens, count } = (await answer.json()) as { tokens: number[]; count: number };
    assert.equal(count, tokens.length);
    assert.deepEqual(tokens, (await whole({ ...BODY, return_token_ids: true })).prompt_token_ids);
  });

  it('decodes tokens, and refuses what is none', async () => {
    const decoded = (tokens: unknown): Promise<Response> =>
      fetch(`${server.url.replace(/\/v1$/, '')}/detokenize`, { method: 'POST', body: JSON.stringify({ tokens }) });
    const { ids } = tokenize('Renew loan 17.');
    assert.deepEqual(await (await decoded(ids)).json(), { prompt: 'Renew loan 17.' });
    assert.equal((await decoded('none')).status, 400);
  });

  it('lists its one model', async () => {
    const { data } = (await (await fetch(`${server.url}/models`)).json()) as {
      data: { id: string; owned_by: string }[];
    };
    assert.deepEqual(
      data.map(({ id, owned_by }) => [id, owned_by]),
      [['demo', 'rollout-studio']],
    );
  });

  it('refuses like vLLM', async () => {
    const long = await errorOf(BODY, '?context=20');
    assert.deepEqual([long.status, long.error.param, long.error.type], [400, 'input_tokens', 'BadRequestError']);
    assert.match(
      long.error.message,
      /^This model's maximum context length is 20 tokens\. However, your prompt contains at least 21 input tokens/,
    );
    assert.equal((await errorOf({ ...BODY, max_tokens: 100_000 })).error.param, 'max_tokens');
    const model = await errorOf({ ...BODY, model: 'gpt' });
    assert.deepEqual(
      [model.status, model.error.message],
      [404, 'The model `gpt` does not exist. Valid aliases: demo.'],
    );
    assert.match((await errorOf(BODY, '?tools=0')).error.message, /tool choice requires/);
    assert.deepEqual(
      (await errorOf({ ...BODY, tools: [{ type: 'function', function: {} }] })).error.param,
      'body.tools.0.function.name',
    );
    assert.equal((await errorOf({ ...BODY, temperature: -1 })).error.param, 'temperature');
    assert.equal((await errorOf({ ...BODY, n: 2 })).error.param, 'n');
    const text = await fetch(`${server.url}/chat/completions`, { method: 'POST', body: '{nope' });
    assert.equal(text.status, 400);
    assert.equal((await fetch(`${server.url}/nothing`)).status, 404);
    assert.equal((await fetch(`${server.url}/chat/completions`)).status, 405);
    assert.deepEqual(
      [(await post(BODY, '?key=k')).status, (await post(BODY, '?key=k', { authorization: 'Bearer k' })).status],
      [401, 200],
    );
    assert.match((await errorOf(BODY, '?slot=4')).error.message, /no setting `slot`/);
  });

  it('fails as configured, by query or by header', async () => {
    const limited = await errorOf(BODY, '?fail=429:1&retry_after=2');
    assert.deepEqual([limited.status, limited.retry], [429, '2']);
    const busy = await errorOf(BODY, '?fail=503:1&retry_after=2');
    assert.deepEqual([busy.status, busy.retry, busy.error.type], [503, null, 'Service Unavailable']);
    assert.equal((await post(BODY, '', { 'x-demo': 'fail=500:1' })).status, 500);
    const again = await Promise.all(Array.from({ length: 12 }, async () => (await post(BODY, '?fail=429:0.5')).status));
    assert.ok(again.includes(200) && again.includes(429), 'a repeated call meets new luck');
  });

  it('truncates and garbles answers', async () => {
    await assert.rejects(post(BODY, '?cut=1').then((answer) => answer.text()));
    await assert.rejects(post({ ...BODY, stream: true }, '?cut=1').then((answer) => answer.text()));
    await assert.rejects(
      post(BODY, '?malformed=1').then((answer) => answer.json()),
      SyntaxError,
    );
    await assert.rejects(events(BODY, '?malformed=1'), SyntaxError);
  });

  it('has slots: others wait, metrics report it, the queue can be full, and a disconnect frees a slot', async () => {
    const query = '?slots=1&queue=2&latency_ms=10000';
    const leave = [new AbortController(), new AbortController(), new AbortController()];
    const calls = leave.map(({ signal }) =>
      fetch(`${server.url}/chat/completions${query}`, { method: 'POST', body: JSON.stringify(BODY), signal }).catch(
        () => undefined,
      ),
    );
    const until = async (running: number, waiting: number): Promise<void> => {
      for (let tries = 0; tries < 500; tries++) {
        if (
          (await metric('num_requests_running', query)) === running &&
          (await metric('num_requests_waiting', query)) === waiting
        )
          return;
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.fail(`never ${running} running and ${waiting} waiting`);
    };
    await until(1, 2);
    assert.equal((await errorOf(BODY, query)).status, 503);
    assert.ok((await metric('kv_cache_usage_perc', query)) > 0);
    leave[1]!.abort();
    await until(1, 1);
    leave[0]!.abort();
    await until(1, 0);
    leave[2]!.abort();
    await until(0, 0);
    await Promise.all(calls);
    assert.equal(await metric('kv_cache_usage_perc', query), 0);
  });

  it('has latency', async () => {
    const started = performance.now();
    await (await post(BODY, '?latency_ms=120')).text();
    const middle = performance.now();
    await (await post({ ...BODY, stream: true }, '?latency_ms=120&chunks=20')).text();
    assert.ok(middle - started >= 118, `${middle - started}`);
    assert.ok(performance.now() - middle >= 118);
  });

  it('sends a slow stream piece by piece', async () => {
    const answer = await post({ ...BODY, stream: true }, '?latency_ms=300&chunks=20');
    let reads = 0;
    for await (const part of answer.body!) if ((part as Uint8Array).length > 0) reads++;
    assert.ok(reads >= 4, `${reads} reads`);
  });

  it('counts requests', () => {
    const { calls, completions, refused, cut, malformed, aborted, toolCalls, running, waiting } = server.counters();
    assert.equal(calls, completions + cut + aborted + Object.values(refused).reduce((sum, count) => sum + count, 0));
    assert.ok(toolCalls > 0 && malformed === 2 && cut === 2 && aborted === 3);
    assert.deepEqual([running, waiting], [0, 0]);
  });
});

describe('a demo model below a prefix', () => {
  it('answers there, with its settings', async () => {
    const server = await startDemoServer({ prefix: '/demo', settings: 'fail=429:1' });
    try {
      assert.match(server.url, /\/demo\/v1$/);
      assert.equal((await fetch(`${server.url}/models`)).status, 200);
      assert.equal(
        (await fetch(`${server.url}/chat/completions`, { method: 'POST', body: JSON.stringify(BODY) })).status,
        429,
      );
      assert.equal((await fetch(`http://127.0.0.1:${server.port}/v1/models`)).status, 404);
    } finally {
      await server.close();
    }
  });
});
