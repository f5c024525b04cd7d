import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type JsonObject, jsonOf } from '../../../src/common/json.ts';
import { type Answer, AnswerBuilder } from '../../../src/model/chat/answer.ts';
import { StreamedReply } from '../../../src/model/chat/streamedReply.ts';
import type { ModelRequest } from '../../../src/rollout/ports.ts';
import { chunk, usageChunk } from '../../support/endpoint.ts';
import { Random } from '../../support/random.ts';

const REQUEST: ModelRequest = {
  endpoint: 'http://model/v1',
  model: 'm',
  messages: [],
  tools: [],
  sampling: {},
  seed: 1,
  capture: { token_ids: true, logprobs: true },
};

/** Texts as engines stream them: plain ones, ones that JSON escapes, and characters of several bytes. */
const WORDS = ['one', ' two', ' "three"', '\n', ' vier\\', ' fünf', ' 漢', '😀', ' {"a":1}', ' data: x', ' '];

/** A reply with everything in it: reasoning, text, calls, token IDs, log probabilities, usage, and null fields. */
const CHUNKS: readonly JsonObject[] = [
  chunk({ delta: { role: 'assistant', content: '' }, top: { prompt_token_ids: [1, 2, 3] } }),
  ...WORDS.slice(0, 4).map((reasoning) => chunk({ delta: { reasoning } })),
  ...WORDS.map((content) => chunk({ delta: { content } })),
  ...WORDS.slice(-4).map((content, at) => chunk({ delta: { content }, ids: [at, at + 1], logprobs: [-0.5, -1 - at] })),
  chunk({ delta: { content: 'mixed', reasoning: 'both' } }),
  ...WORDS.slice(0, 3).map((content) => chunk({ delta: { content, role: null } })),
  chunk({ delta: { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'find' } }] } }),
  chunk({ delta: { tool_calls: [{ index: 0, function: { arguments: '{"name": ' } }] } }),
  chunk({ delta: { tool_calls: [{ index: 0, function: { arguments: '"Ann 漢"}' } }] } }),
  chunk({ delta: { tool_calls: [{ index: 1, id: 'b', function: { name: 'list', arguments: '{}' } }] } }),
  chunk({ finish: 'tool_calls' }),
  usageChunk(3, 10),
];

const framed = (frame: (data: string, at: number) => string, end: string): string =>
  CHUNKS.map((one, at) => frame(JSON.stringify(one), at)).join('') + end;

/** As engines frame them: with other line ends, and with what keeps the connection alive between them. */
const FRAMED: Readonly<Record<string, string>> = {
  'line feeds': framed((data) => `data: ${data}\n\n`, 'data: [DONE]\n\n'),
  'carriage returns': framed((data) => `data: ${data}\r\n\r\n`, 'data: [DONE]\r\n\r\n'),
  'comments and other fields': framed(
    (data, at) =>
      `${at === 0 ? '\uFEFF' : ''}${at % 3 === 0 ? ': ping\n\n' : ''}event: chunk\nid: ${at}\ndata:${data}\n\n`,
    'data: [DONE]',
  ),
  'several lines of data': framed(
    (data) => `data: ${data.replace(',"choices":', ',\ndata: "choices":\ndata:')}\n\n`,
    'data: [DONE]\n\n',
  ),
};

function read(pieces: readonly Buffer[]): { readonly answer: Answer; readonly text: string } {
  const builder = new AnswerBuilder();
  let text = '';
  const reply = new StreamedReply(builder, REQUEST, (added) => (text += added));
  for (const piece of pieces) reply.push(piece);
  reply.end();
  return { answer: builder.build(1, true), text };
}

/** What a reader that parses each chunk by itself returns. */
function expected(): ReturnType<typeof read> {
  const builder = new AnswerBuilder();
  const text = CHUNKS.map((one) => builder.chunk(one)).join('');
  return { answer: builder.build(1, true), text };
}

describe('StreamedReply', () => {
  for (const [name, stream] of Object.entries(FRAMED)) {
    const whole = Buffer.from(stream);

    it(`is the same wherever the bytes are split in two: ${name}`, () => {
      const want = expected();
      for (let at = 0; at <= whole.length; at++)
        assert.deepEqual(read([whole.subarray(0, at), whole.subarray(at)]), want, `split at byte ${at}`);
    });

    it(`is the same in pieces of any sizes: ${name}`, () => {
      const want = expected();
      for (const size of [1, 2, 3, 7, 64, 1000]) {
        const pieces: Buffer[] = [];
        for (let at = 0; at < whole.length; at += size) pieces.push(whole.subarray(at, at + size));
        assert.deepEqual(read(pieces), want, `pieces of ${size}`);
      }
      for (let seed = 0; seed < 100; seed++) {
        const random = new Random(seed);
        const pieces: Buffer[] = [];
        for (let at = 0; at < whole.length; ) {
          const end = at + 1 + Math.floor(random.next() ** 3 * 2000);
          pieces.push(whole.subarray(at, end));
          at = end;
        }
        assert.deepEqual(read(pieces), want, `seed ${seed}`);
      }
    });
  }

  it('keeps the order of short, long, and foreign texts that arrive together', () => {
    const words = Array.from({ length: 2000 }, (_, n) => (n % 7 === 0 ? '漢字' : `${n} `).repeat(1 + ((n * n) % 40)));
    const stream = words.map((content) => `data: ${JSON.stringify(chunk({ delta: { content } }))}\n\n`).join('');
    const { answer, text } = read([Buffer.from(`${stream}data: [DONE]\n\n`)]);
    assert.equal(text, words.join(''));
    assert.deepEqual(answer.parts, [{ type: 'text', content: words.join('') }]);
  });

  it('reads a chunk that differs in one byte from those before as what it is', () => {
    const event = (data: string): string => `data: ${data}\n\n`;
    // Bytes are compared four at a time, and those that remain by themselves.
    for (const model of ['m', 'mm', 'mmm', 'mmmm']) {
      const said = (content: string): string => JSON.stringify(chunk({ delta: { content }, top: { model } }));
      const next = said(' two');
      for (let at = 0; at < next.length; at++) {
        const changed = `${next.slice(0, at)}~${next.slice(at + 1)}`;
        const raw = jsonOf(changed);
        const together = Buffer.from(`${event(said('one'))}${event(changed)}data: [DONE]\n\n`);
        if (raw === undefined) assert.throws(() => read([together]), { name: 'AnswerError' }, `byte ${at}`);
        else assert.equal(read([together]).text, `one${new AnswerBuilder().chunk(raw as JsonObject)}`, `byte ${at}`);
      }
    }
  });

  it('keeps everything before an error that comes together with it', () => {
    const error = { error: { message: 'EngineCore encountered an issue.', type: 'InternalServerError', code: 500 } };
    const words = [...WORDS, 'last'].map((content) => chunk({ delta: { content } }));
    const whole = Buffer.from([...words, error].map((one) => `data: ${JSON.stringify(one)}\n\n`).join(''));
    for (let at = 0; at <= whole.length; at++) {
      let text = '';
      const reply = new StreamedReply(new AnswerBuilder(), REQUEST, (added) => (text += added));
      assert.throws(() => [whole.subarray(0, at), whole.subarray(at)].forEach((piece) => reply.push(piece)), {
        failure: { what: 'down', name: '500', text: 'EngineCore encountered an issue.' },
      });
      assert.equal(text, [...WORDS, 'last'].join(''), `split at byte ${at}`);
    }
  });

  it('keeps whole events of a reply that is cut off anywhere, and says that it is', () => {
    const whole = Buffer.from(
      WORDS.map((content) => `data: ${JSON.stringify(chunk({ delta: { content } }))}\n\n`).join(''),
    );
    for (let length = 0; length <= whole.length; length++) {
      const cut = whole.subarray(0, length);
      let text = '';
      const reply = new StreamedReply(new AnswerBuilder(), REQUEST, (added) => (text += added));
      reply.push(cut);
      const events = cut.toString('utf8').split('\n\n').length - 1;
      assert.equal(text, WORDS.slice(0, events).join(''), `cut off after ${length} bytes`);
      assert.throws(() => reply.end(), { name: 'AnswerError' });
    }
  });
});
