import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inlineDiff } from '../../../webview/values/inlineDiff.ts';

const differing = (spans: readonly { text: string; differs: boolean }[]): string[] =>
  spans.filter(({ differs }) => differs).map(({ text }) => text);

describe('inlineDiff', () => {
  it('marks only the words that differ', () => {
    const { before, after } = inlineDiff('L-3001 is due May 22.', 'L-3001 is due May 15.');
    assert.deepEqual([differing(before), differing(after)], [['22'], ['15']]);
  });
  it('keeps both texts whole', () => {
    const [one, other] = ['a  b\nc', 'a b\n\nc d'];
    const { before, after } = inlineDiff(one, other);
    assert.deepEqual(
      [before, after].map((spans) => spans.map(({ text }) => text).join('')),
      [one, other],
    );
  });
  it('compares huge and entirely different texts as a whole', () => {
    const huge = 'x y '.repeat(10_000);
    assert.deepEqual(inlineDiff(huge, 'z').before, [{ text: huge, differs: true }]);
    const words = (word: string): string => Array.from({ length: 1_000 }, (_, index) => `${word}${index}`).join(' ');
    assert.deepEqual(differing(inlineDiff(words('a'), words('b')).before), [words('a')]);
  });
});
