import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../src/common/json.ts';
import { AnswerBuilder } from '../../../src/model/chat/answer.ts';
import { ChunkTemplate } from '../../../src/model/chat/chunkTemplate.ts';
import { cutOffCall } from '../../../src/model/chat/cutOffCall.ts';
import { Dialect } from '../../../src/model/chat/dialect.ts';
import { prepareRequest } from '../../../src/model/chat/request.ts';
import { byAffinity, endpointLabel, locate } from '../../../src/model/endpoint.ts';
import { retryAfterMs } from '../../../src/model/http/retryAfter.ts';
import { EventStreamReader } from '../../../src/model/http/sse.ts';
import type { Message, ModelRequest } from '../../../src/rollout/ports.ts';
import { toChatMessages, toChatText } from '../../../src/trace/chat/messages.ts';
import type { Part } from '../../../src/trace/schema.ts';
import { chunk, usageChunk } from '../../support/endpoint.ts';

const message = (m: number, role: Message['role'], ...parts: Part[]): Message => ({ m, role, parts });
const text = (content: string): Part => ({ type: 'text', content });
const PNG: Part = { type: 'blob', mime_type: 'image/png', modality: 'image', content: 'aGk=' };

describe('toChatMessages', () => {
  it('converts a whole turn', () => {
    const chat = toChatMessages(
      [
        message(1, 'system', text('Be brief.')),
        message(2, 'user', text('What is on it?'), PNG),
        message(3, 'assistant', { type: 'reasoning', content: 'hm' }, text('Looking.'), {
          type: 'tool_call',
          id: 'c1',
          name: 'look',
          arguments: { at: 1 },
        }),
        message(4, 'tool', { type: 'tool_call_response', id: 'c1', response: { ok: true } }),
      ],
      ['reasoning'],
    );
    assert.deepEqual(chat, [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is on it?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
        ],
      },
      {
        role: 'assistant',
        content: 'Looking.',
        reasoning: 'hm',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '{"ok":true}' },
    ]);
  });

  it('puts the images of tools after the last tool message of the turn', () => {
    const chat = toChatMessages(
      [
        message(1, 'tool', { type: 'tool_call_response', id: 'a', response: 'one' }, PNG),
        message(2, 'tool', { type: 'tool_call_response', id: 'b', response: 'two' }),
        message(3, 'user', text('go on')),
      ],
      [],
    );
    assert.deepEqual(
      chat.map((entry) => entry.role),
      ['tool', 'tool', 'user', 'user'],
    );
    assert.deepEqual(chat[2]?.content, [
      { type: 'text', text: 'From the tool call a:' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
    ]);
  });

  it('returns the same text every time, whatever reasoning is called', () => {
    const messages = [
      message(1, 'system', text('Be "brief".')),
      message(
        2,
        'assistant',
        { type: 'reasoning', content: 'hm' },
        { type: 'tool_call', id: 'a', name: 'f', arguments: {} },
      ),
      message(3, 'tool', { type: 'tool_call_response', id: 'a', response: 'one' }, PNG),
      message(4, 'user', text('go on')),
    ];
    for (const names of [['reasoning'], ['reasoning'], [], ['reasoning', 'reasoning_content']] as const) {
      assert.deepEqual(JSON.parse(toChatText(messages, names)), toChatMessages(messages, names));
    }
  });

  it('sends arguments that are not valid JSON as JSON, because templates parse them', () => {
    const [chat] = toChatMessages(
      [message(1, 'assistant', { type: 'tool_call', id: 'a', name: 'f', arguments: '{"x": ' })],
      [],
    );
    assert.ok(chat?.role === 'assistant');
    assert.equal(chat.content, null);
    assert.deepEqual(JSON.parse(chat.tool_calls?.[0]?.function.arguments ?? ''), { unparsable: '{"x": ' });
  });

  it('omits reasoning when the endpoint has no field for it, and refuses unread blobs', () => {
    const parts: Part[] = [{ type: 'reasoning', content: 'hm' }, text('x')];
    assert.deepEqual(toChatMessages([message(1, 'assistant', ...parts)], []), [{ role: 'assistant', content: 'x' }]);
    assert.throws(
      () =>
        toChatMessages(
          [
            message(1, 'user', {
              type: 'text',
              content: { $blob: 'a'.repeat(64), bytes: 1, media: 'text/plain', head: '' },
            }),
          ],
          [],
        ),
      TypeError,
    );
  });
});

describe('AnswerBuilder', () => {
  const build = (chunks: ReturnType<typeof chunk>[], tools = true): ReturnType<AnswerBuilder['build']> => {
    const builder = new AnswerBuilder();
    for (const one of chunks) builder.chunk(one);
    return builder.build(255, tools);
  };

  it('reads a stream as vLLM sends it: reasoning, call fragments, IDs, logprobs, usage', () => {
    const answer = build([
      chunk({ delta: { role: 'assistant', content: '' }, top: { prompt_token_ids: [1, 2, 3] } }),
      chunk({ ids: [10], logprobs: [-0.5] }),
      chunk({ delta: { reasoning: 'I ' }, ids: [11], logprobs: [-0.25] }),
      chunk({ delta: { reasoning: 'need it.' }, ids: [12], logprobs: [-1] }),
      chunk({ delta: { content: '\n\n' }, ids: [13], logprobs: [-2] }),
      chunk({
        delta: {
          content: null,
          tool_calls: [{ id: 'call-a', type: 'function', index: 0, function: { name: 'find' } }],
        },
        ids: [14],
        logprobs: [-3],
      }),
      chunk({ delta: { tool_calls: [{ index: 0, function: { arguments: '{"name"' } }] }, ids: [15], logprobs: [-4] }),
      chunk({
        delta: { tool_calls: [{ index: 0, function: { arguments: ': "Ann"}' } }] },
        ids: [16, 17],
        logprobs: [-5, -6],
      }),
      chunk({
        delta: { tool_calls: [{ id: 'call-b', index: 1, function: { name: 'list', arguments: '{}' } }] },
        ids: [18],
        logprobs: [-7],
      }),
      chunk({ finish: 'tool_calls', ids: [19], logprobs: [-8] }),
      usageChunk(3, 10, {
        prompt_tokens_details: { cached_tokens: 2 },
        completion_tokens_details: { reasoning_tokens: 3 },
      }),
    ]);
    assert.deepEqual(answer.parts, [
      { type: 'reasoning', content: 'I need it.' },
      { type: 'tool_call', id: 'call-a', name: 'find', arguments: { name: 'Ann' } },
      { type: 'tool_call', id: 'call-b', name: 'list', arguments: {} },
    ]);
    assert.equal(answer.finishReason, 'tool_calls');
    assert.deepEqual(answer.promptIds, [1, 2, 3]);
    assert.deepEqual(answer.completionIds, [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    assert.deepEqual([...(answer.logprobs ?? [])], [-0.5, -0.25, -1, -2, -3, -4, -5, -6, -7, -8]);
    assert.deepEqual(answer.usage, { input_tokens: 3, output_tokens: 10, cached_tokens: 2, reasoning_tokens: 3 });
  });

  it('reads a whole answer the same way', () => {
    const builder = new AnswerBuilder();
    builder.whole({
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          token_ids: [7, 8],
          message: {
            role: 'assistant',
            content: null,
            reasoning: 'hm',
            tool_calls: [{ id: 'x', type: 'function', function: { name: 'find', arguments: '{"a":1}' } }],
          },
          logprobs: {
            content: [
              { token: 'a', logprob: -1 },
              { token: 'b', logprob: -2 },
            ],
          },
        },
      ],
      prompt_token_ids: [4],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
      metrics: { queue_time_ms: 1.5 },
    });
    const answer = builder.build(1, true);
    assert.deepEqual(answer.parts, [
      { type: 'reasoning', content: 'hm' },
      { type: 'tool_call', id: 'x', name: 'find', arguments: { a: 1 } },
    ]);
    assert.deepEqual([answer.promptIds, answer.completionIds, answer.queueMs], [[4], [7, 8], 1.5]);
  });

  it('keeps the text of arguments that do not parse, and creates missing IDs', () => {
    const answer = build([
      chunk({ delta: { tool_calls: [{ index: 0, function: { name: 'f', arguments: '{"x": 1' } }] } }),
      chunk({ finish: 'length' }),
    ]);
    assert.deepEqual(answer.parts, [{ type: 'tool_call', id: 'call_ff_0', name: 'f', arguments: '{"x": 1' }]);
    assert.equal(answer.finishReason, 'length');
  });

  it('distinguishes calls that share an index', () => {
    const call = (id: string, name: string): ReturnType<typeof chunk> =>
      chunk({ delta: { tool_calls: [{ index: 0, id, function: { name, arguments: '{}' } }] } });
    assert.deepEqual(
      build([call('a', 'f'), call('b', 'g')]).parts.map((part) => part.type === 'tool_call' && part.name),
      ['f', 'g'],
    );
  });

  it('finds a call that the engine left in the text, only when tools were offered', () => {
    const chunks = [
      chunk({ delta: { content: 'Well.\n<tool_call>\n{"name": "renew", "argum' } }),
      chunk({ finish: 'length' }),
    ];
    assert.deepEqual(build(chunks).parts, [
      { type: 'text', content: 'Well.\n' },
      { type: 'tool_call', id: 'call_ff_0', name: 'renew', arguments: '{"name": "renew", "argum' },
    ]);
    assert.equal(build(chunks, false).parts.length, 1);
    assert.equal(cutOffCall('<tool_call>\n{"na'), undefined);
  });

  it('keeps text without calls unchanged', () => {
    assert.deepEqual(build([chunk({ delta: { content: '\n\nIt is due.' } }), chunk({ finish: 'stop' })]).parts, [
      { type: 'text', content: '\n\nIt is due.' },
    ]);
    assert.deepEqual(build([chunk({ finish: 'stop' })]).parts, []);
  });
});

describe('ChunkTemplate', () => {
  const line = (delta: JsonObject, more: JsonObject = {}, top: JsonObject = {}): string =>
    JSON.stringify({ id: 'c', created: 1, choices: [{ index: 0, delta, finish_reason: null, ...more }], ...top });

  const templateOf = (data: string): ChunkTemplate => {
    const template = new ChunkTemplate();
    template.learn(data, JSON.parse(data) as JsonObject);
    return template;
  };

  it('reads chunks that differ only in their text, without parsing them', () => {
    for (const field of ['content', 'reasoning', 'reasoning_content']) {
      const template = templateOf(line({ [field]: 'one' }, { logprobs: null }));
      for (const text of ['two', ' ', '漢😀', '{}', "it's", '\u2028'])
        assert.deepEqual(template.match(line({ [field]: text }, { logprobs: null })), { field, text });
    }
    const spaced = templateOf('{"choices": [{"delta": {"content": "a"}}]}');
    assert.deepEqual(spaced.match('{"choices": [{"delta": {"content": "b c"}}]}'), { field: 'content', text: 'b c' });
  });

  it('leaves every other chunk to the parser', () => {
    const template = templateOf(line({ content: 'one' }));
    for (const text of ['a "quote"', 'a \\', 'new\nline', '', 'x"}},{"delta":{"content":"y'])
      assert.equal(template.match(line({ content: text })), undefined, text);
    assert.equal(template.match(line({ content: 'x' }, { finish_reason: 'stop' })), undefined);
    assert.equal(template.match(line({ reasoning: 'x' })), undefined);
    assert.equal(template.match(line({ content: 'x' }).slice(0, -1)), undefined);
  });

  it('learns only from chunks that say nothing but a text', () => {
    for (const data of [
      line({ content: 'x', role: 'assistant' }),
      line({ content: 'x', reasoning: 'y' }),
      line({ content: 'x' }, { token_ids: [1] }),
      line({ content: 'x' }, { logprobs: { content: [] } }),
      line({ content: 'x' }, { finish_reason: 'stop' }),
      line({ content: 'x' }, {}, { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
      line({ content: 'x' }, {}, { prompt_token_ids: [1] }),
      line({ content: 'a\nb' }),
      line({ tool_calls: [{ index: 0, function: { arguments: '{' } }] }),
      '{"choices":[{"delta":{"content":"x"}}],"content":null}',
    ])
      assert.equal(templateOf(data).match(data), undefined, data);
  });
});

describe('EventStreamReader', () => {
  it('returns the same events however the bytes are split', () => {
    const text = ': hello\r\n\r\ndata: {"a":"é€😀"}\r\n\r\ndata:two\ndata: lines\nevent: x\n\ndata: last';
    const whole = Buffer.from(text);
    for (let size = 1; size < whole.length; size++) {
      const events: string[] = [];
      const reader = new EventStreamReader((data) => events.push(data));
      for (let at = 0; at < whole.length; at += size) reader.push(whole.subarray(at, at + size));
      reader.end();
      assert.deepEqual(events, ['{"a":"é€😀"}', 'two\nlines', 'last'], `pieces of ${size}`);
    }
  });
});

describe('prepareRequest', () => {
  const request: ModelRequest = {
    endpoint: 'http://x/v1',
    model: 'm',
    messages: [message(1, 'user', text('hi'))],
    tools: [],
    seed: 5,
    sampling: { temperature: 0.5, max_tokens: 9, extra: { top_k: 3 } },
    capture: { token_ids: true, logprobs: true },
  };

  it('sends what the endpoint supports', () => {
    assert.deepEqual(JSON.parse(prepareRequest(request, new Dialect(), true).body.toString()), {
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      temperature: 0.5,
      max_tokens: 9,
      seed: 5,
      stream: true,
      stream_options: { include_usage: true },
      return_token_ids: true,
      logprobs: true,
      top_k: 3,
    });
  });

  it('lets `extra` override everything', () => {
    const body = JSON.parse(
      prepareRequest(
        { ...request, tools: [], sampling: { temperature: 1, extra: { temperature: 0, model: 'other', tools: [] } } },
        new Dialect(),
        true,
      ).body.toString(),
    ) as JsonObject;
    assert.deepEqual([body['temperature'], body['model'], body['tools']], [0, 'other', []]);
  });

  it('omits what was refused by name', () => {
    const dialect = new Dialect();
    const { sent } = prepareRequest(request, dialect, true);
    assert.equal(dialect.learn('Unrecognized request argument supplied: return_token_ids', sent), true);
    assert.equal(
      dialect.learn("'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", sent),
      true,
    );
    assert.equal(dialect.learn('the moon is full', sent), false);
    const body = JSON.parse(prepareRequest(request, dialect, true).body.toString()) as JsonObject;
    assert.equal('return_token_ids' in body || 'max_tokens' in body, false);
    assert.equal(body['max_completion_tokens'], 9);
  });

  it('requests a whole answer when the sampling says so', () => {
    const prepared = prepareRequest({ ...request, sampling: { extra: { stream: false } } }, new Dialect(), true);
    assert.equal(prepared.streamed, false);
    const body = JSON.parse(prepared.body.toString()) as JsonObject;
    assert.equal(body['stream'], false);
    assert.equal('stream_options' in body, false);
  });

  it('requests a whole answer when nobody watches, unless the sampling says otherwise', () => {
    const prepared = prepareRequest(request, new Dialect(), false);
    assert.equal(prepared.streamed, false);
    const body = JSON.parse(prepared.body.toString()) as JsonObject;
    assert.equal('stream' in body || 'stream_options' in body, false);
    const streamed = prepareRequest({ ...request, sampling: { extra: { stream: true } } }, new Dialect(), false);
    assert.equal(streamed.streamed, true);
  });
});

describe('endpoints', () => {
  it('find the demo model with its query, and hide keys in displayed addresses', () => {
    assert.deepEqual(
      locate('demo:?latency_ms=20&p=1', () => 'http://h:1/demo/'),
      { baseUrl: 'http://h:1/demo/v1', query: { latency_ms: '20', p: '1' } },
    );
    assert.deepEqual(
      locate('demo:', () => 'http://h:1/demo'),
      { baseUrl: 'http://h:1/demo/v1', query: {} },
    );
    assert.deepEqual(
      locate('https://h/api/v1/?key=1', () => ''),
      { baseUrl: 'https://h/api/v1', query: { key: '1' } },
    );
    assert.equal(endpointLabel('https://me:secret@h/v1?key=1'), 'https://h/v1');
  });

  it('spread keys over replicas and move only those of a lost one', () => {
    const replicas = ['http://a/v1', 'http://b/v1', 'http://c/v1'];
    const keys = Array.from({ length: 300 }, (_, n) => `task-${n}`);
    const first = (list: string[], key: string): string | undefined => byAffinity(list, key)[0];
    for (const replica of replicas) assert.ok(keys.filter((key) => first(replicas, key) === replica).length > 60);
    const left = replicas.slice(0, 2);
    for (const key of keys)
      if (first(replicas, key) !== 'http://c/v1') assert.equal(first(left, key), first(replicas, key));
  });

  it('send Retry-After in two forms, and both are read', () => {
    assert.equal(retryAfterMs('2', 0), 2000);
    assert.equal(retryAfterMs('Thu, 01 Jan 1970 00:00:05 GMT', 1000), 4000);
    assert.equal(retryAfterMs('soon', 0), undefined);
    assert.equal(retryAfterMs(undefined, 0), undefined);
  });
});
