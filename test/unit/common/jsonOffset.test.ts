import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jsonOffset, lineAndColumn, offsetOf } from '../../../src/common/jsonOffset.ts';

const VALUE = {
  first: { '"odd" }{': [1, 'two', null, [true, -1.5e3]] },
  second: [{ text: 'a "quoted" line\nand\té🙂 end' }, 'x'],
};

type Step = string | number;

/** Calls `visit` with each value below another one, and its path. */
function walk(value: unknown, path: readonly Step[], visit: (path: readonly Step[], value: unknown) => void): void {
  visit(path, value);
  if (Array.isArray(value)) value.forEach((each, at) => walk(each, [...path, at], visit));
  else if (typeof value === 'object' && value !== null)
    for (const [name, each] of Object.entries(value)) walk(each, [...path, name], visit);
}

describe('jsonOffset', () => {
  for (const space of [undefined, 2])
    it(`finds each value of a text ${space === undefined ? 'in one line' : 'in many lines'}`, () => {
      const text = JSON.stringify(VALUE, null, space);
      let found = 0;
      walk(VALUE, [], (path, value) => {
        const offset = jsonOffset(text, path);
        assert.ok(offset !== undefined, path.join('.'));
        const start = JSON.stringify(value).slice(0, 1);
        assert.equal(text[offset], start, path.join('.'));
        found++;
      });
      assert.equal(found, 13);
    });

  it('finds a character of a text behind escapes', () => {
    const text = JSON.stringify(VALUE).replace('é', '\\u00e9');
    const within = VALUE.second[0];
    assert.ok(typeof within === 'object');
    for (const word of ['quoted', 'and', 'end']) {
      const offset = jsonOffset(text, ['second', 0, 'text'], within.text.indexOf(word));
      assert.equal(text.slice(offset, (offset ?? 0) + word.length), word);
    }
  });

  it('finds nothing where there is nothing, and the last of equal members, as JSON.parse does', () => {
    const text = JSON.stringify(VALUE);
    for (const path of [['third'], ['second', 2], ['second', 'text'], ['first', 0]])
      assert.equal(jsonOffset(text, path), undefined);
    assert.equal(jsonOffset('{"a": 1, "a": 2}', ['a']), 14);
  });

  it('converts between offsets and places', () => {
    const text = 'one\n\nthree';
    for (const [offset, line, column] of [
      [0, 1, 1],
      [3, 1, 4],
      [4, 2, 1],
      [7, 3, 3],
    ] as const) {
      assert.deepEqual(lineAndColumn(text, offset), { line, column });
      assert.equal(offsetOf(text, line, column), offset);
    }
    assert.equal(offsetOf(text, 9, 9), text.length);
  });
});
