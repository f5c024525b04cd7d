import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenize } from '../../../src/demo/text/tokenizer.ts';
import { estimateTokens } from '../../../src/language/prompts/tokenEstimate.ts';
import { Tokenizers, type TokenizeTarget } from '../../../src/language/prompts/tokenize.ts';
import { type OutboundRequest, type OutboundResponse, outboundRequest } from '../../../src/net/outboundRequest.ts';
import { startDemoServer } from '../../support/demoServer.ts';

const TARGET: TokenizeTarget = { endpoint: 'http://gpu:8000/v1', model: 'm', apiKey: 'k', headers: { team: 'a' } };

function reply(body: unknown, status = 200): OutboundResponse {
  return {
    status,
    ok: status === 200,
    header: () => undefined,
    text: () => Promise.resolve(JSON.stringify(body)),
    drop: () => Promise.resolve(),
  };
}

test('an estimate is close to common vocabularies', () => {
  assert.equal(estimateTokens(''), 0);
  assert.equal(estimateTokens('The quick brown fox jumps over the lazy dog.'), 10); // as cl100k has it
  assert.equal(estimateTokens('1234567'), 3);
  const prose =
    'Do what you are asked with the tools, and nothing beyond it. Every change is made by a tool call: what you ' +
    'only say has not happened.';
  assert.ok(Math.abs(estimateTokens(prose) - 31) <= 3, String(estimateTokens(prose)));
});

test('an endpoint with /tokenize receives the text, with the options it needs', async () => {
  const requests: { url: string; init: OutboundRequest }[] = [];
  const tokenizers = new Tokenizers((url, init) => {
    requests.push({ url, init });
    return Promise.resolve(reply({ count: 7, max_model_len: 100 }));
  });
  assert.equal(await tokenizers.count(TARGET, 'a text'), 7);
  assert.equal(requests.length, 1);
  assert.equal(requests[0]?.url, 'http://gpu:8000/tokenize');
  assert.equal(requests[0].init.headers?.['authorization'], 'Bearer k');
  assert.equal(requests[0].init.headers['team'], 'a');
  const { body } = requests[0].init;
  assert.ok(typeof body === 'string');
  assert.deepEqual(JSON.parse(body), { model: 'm', prompt: 'a text', add_special_tokens: false });
});

test('an endpoint without it is not queried again for some minutes', async () => {
  let requests = 0;
  let now = 0;
  const tokenizers = new Tokenizers(
    () => {
      requests += 1;
      return Promise.resolve(reply('no', 404));
    },
    () => now,
  );
  assert.equal(await tokenizers.count(TARGET, 'a'), undefined);
  assert.equal(await tokenizers.count(TARGET, 'b'), undefined);
  assert.equal(requests, 1);
  now = 6 * 60_000;
  assert.equal(await tokenizers.count(TARGET, 'b'), undefined);
  assert.equal(requests, 2);
});

test('invalid responses and failed connections return no count', async () => {
  for (const response of [
    () => Promise.resolve(reply({ tokens: 3 })),
    () => Promise.reject(new TypeError('fetch failed')),
  ]) {
    assert.equal(await new Tokenizers(response).count(TARGET, 'a'), undefined);
  }
});

test('only the newest texts of what is typed are requested, one at a time', async () => {
  const requests: string[] = [];
  let atOnce = 0;
  const tokenizers = new Tokenizers(async (_, init) => {
    assert.equal((atOnce += 1), 1);
    await new Promise((resolve) => setImmediate(resolve));
    atOnce -= 1;
    const { prompt } = JSON.parse(typeof init.body === 'string' ? init.body : '{}') as { prompt: string };
    requests.push(prompt);
    return reply({ count: prompt.length });
  });
  const texts = Array.from({ length: 20 }, (_, index) => 'x'.repeat(index + 1));
  const counts = await Promise.all(texts.map((text) => tokenizers.count(TARGET, text)));
  assert.deepEqual(
    counts,
    texts.map(({ length }) => (length === 1 || length > 16 ? length : undefined)),
  );
  assert.equal(requests.length, 5);
  assert.deepEqual(await Promise.all(['a', 'bb'].map((text) => tokenizers.count(TARGET, text))), [1, 2]);
});

test('a vLLM-compatible server counts with its own tokenizer', async () => {
  const server = await startDemoServer();
  try {
    const text = 'Renew the loan of Mira Okafor, please.';
    const tokenizers = new Tokenizers(outboundRequest);
    assert.equal(await tokenizers.count({ ...TARGET, endpoint: server.url }, text), tokenize(text).ids.length);
  } finally {
    await server.close();
  }
});
