import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { harmless, harmlessColored, harmlessEntry, harmlessJson } from '../../../src/common/harmless.ts';

/** All that a terminal obeys, or that changes the order of text. */
const ACTIVE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\p{Cs}/u;

describe('text that is printed', () => {
  it('has no control characters, direction overrides, and lone surrogates', () => {
    for (let code = 0; code <= 0xffff; code++) {
      const text = harmless(`a${String.fromCharCode(code)}b`);
      assert.doesNotMatch(text, ACTIVE);
      assert.equal(text.length, 3, code.toString(16));
    }
  });

  it('shows what it replaced', () => {
    assert.equal(harmless('\x1b]52;c;aGk=\x07'), '␛]52;c;aGk=␇');
    assert.equal(harmless('\x9b6n \x7f'), '\ufffd6n ␡');
    assert.equal(harmless('one\r\ntwo\rthree'), 'one\ntwo␍three');
  });

  it('keeps all other text', () => {
    for (const text of ['a\tb\nc', '👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 e\u0301', 'שלום, مرحبا\u200f!', '漢字 𝒳', '\ufeff\u200b'])
      assert.equal(harmless(text), text);
  });

  it('keeps colors, but no other sequence, on request', () => {
    assert.equal(harmlessColored('\x1b[31mred\x1b[0m \x1b[2J\x1b]0;t\x07'), '\x1b[31mred\x1b[0m ␛[2J␛]0;t␇');
    assert.equal(harmless('\x1b[31mred'), '␛[31mred');
  });

  it('cannot look like a message of its own in a log', () => {
    assert.equal(harmlessEntry('one\n2026-01-01 two\x1b'), 'one\n  2026-01-01 two␛');
  });
});

describe('JSON that is printed', () => {
  it('is the same value', () => {
    const value = { '\x1b]0;\x9c': ['\u202eabc', '\x7f\x85', '👩‍👩‍👧', 'a\nb'] };
    const text = harmlessJson(value);
    assert.doesNotMatch(text, ACTIVE);
    assert.deepEqual(JSON.parse(text), value);
    assert.match(text, /👩‍👩‍👧/u);
  });
});
