import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { chatRequest } from '../../../src/demo/request.ts';
import { complete } from '../../../src/demo/text/completion.ts';
import { renderPrompt } from '../../../src/demo/text/template.ts';
import { detokenize, tokenize, VOCABULARY_SIZE } from '../../../src/demo/text/tokenizer.ts';
import { TEXTS } from '../../../src/demo/text/vocabulary.ts';

const TEXT = 'Renew "Pål’s Road" for M-1001.\n\n {"a":{"b":[1,23,4567]}}\t\u{1f4da} zz  ünï\r\n';

describe('the tokenizer', () => {
  it('loses nothing', () => {
    const { ids, texts } = tokenize(TEXT);
    assert.equal(detokenize(ids), TEXT);
    assert.equal(texts.join(''), TEXT);
    assert.equal(ids.length, texts.length);
    assert.ok(ids.every((id) => Number.isInteger(id) && id >= 0 && id < VOCABULARY_SIZE));
  });
  it('does not keep what it was given, however long', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = (): number => {
      collect();
      return process.memoryUsage().heapUsed / 1e6;
    };
    const before = used();
    for (let n = 0; n < 60; n++) assert.ok(tokenize(`loan ${n} `.repeat(30_000)).ids.length > 60_000);
    const grown = used() - before;
    assert.ok(grown < 40, `${grown.toFixed(0)} MB more`);
  });
  it('has unique tokens', () =>
    assert.deepEqual(
      TEXTS.filter((text, i) => TEXTS.indexOf(text) !== i),
      [],
    ));
  it('knows the words of the desk', () => assert.equal(tokenize('renew all overdue loans').ids.length, 4));
  it('never changes', () =>
    assert.deepEqual(tokenize('renew L-3001').ids.slice(0, 2), [TEXTS.indexOf('renew') + 256, 32]));
});

describe('the template', () => {
  const turn = {
    reasoning: 'I need it.',
    content: 'Now.',
    calls: [
      { name: 'a', arguments: '{"x":1}' },
      { name: 'b', arguments: '{}' },
    ],
  };
  it('renders a turn as it was sampled, so prompts only grow at their end', () => {
    const prompt = [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'U' },
    ];
    const answered = [
      ...prompt,
      {
        role: 'assistant',
        content: turn.content,
        reasoning: turn.reasoning,
        tool_calls: turn.calls.map((call, i) => ({ id: String(i), function: call })),
      },
      { role: 'tool', tool_call_id: '0', content: 'r' },
    ];
    const tools = [{ type: 'function', function: { name: 'a' } }];
    const first = renderPrompt(
      chatRequest.parse({ messages: prompt, tools }).messages,
      chatRequest.parse({ messages: prompt, tools }).tools,
    ).parts.flat();
    const second = renderPrompt(
      chatRequest.parse({ messages: answered, tools }).messages,
      chatRequest.parse({ messages: answered, tools }).tools,
    );
    const sampled = complete(turn, 1000, []).segments.flatMap((segment) => segment.tokens.ids);
    const start = [...first, ...sampled];
    assert.deepEqual(second.parts.flat().slice(0, start.length), start);
    assert.equal(second.cachedTokens, start.length);
    assert.equal(second.count, second.parts.flat().length);
  });
});

describe('a completion', () => {
  const turn = {
    reasoning: 'I need it.',
    content: '',
    calls: [
      { name: 'a', arguments: '{"x":1}' },
      { name: 'b', arguments: '{"y":"text"}' },
    ],
  };
  const whole = complete(turn, 1000, []);
  it('that is truncated in a call leaves it as text', () => {
    const cut = complete(turn, whole.count - 3, []);
    assert.equal(cut.finishReason, 'length');
    assert.deepEqual(cut.turn.calls, [turn.calls[0]]);
    assert.match(cut.turn.content, /^<tool_call>\{"name": "b", "arguments": \{"y"/);
    assert.equal(cut.count, whole.count - 3);
  });
  it('can be truncated anywhere', () => {
    for (let most = 1; most < whole.count; most++) {
      const cut = complete(turn, most, []);
      assert.equal(cut.count, most);
      assert.equal(cut.segments.flatMap((segment) => segment.tokens.ids).length, most);
    }
  });
  it('ends before a stop string', () => {
    const stopped = complete({ ...turn, content: 'one two three' }, 1000, ['three', 'two']);
    assert.deepEqual(
      [stopped.turn.content, stopped.turn.calls, stopped.finishReason, stopped.stopReason],
      ['one ', [], 'stop', 'two'],
    );
  });
});
