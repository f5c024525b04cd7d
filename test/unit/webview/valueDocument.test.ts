import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../../src/common/json.ts';
import { RANGE, ValueDocument } from '../../../webview/values/valueDocument.ts';

function rowsOf(value: Json, baseline?: Json): string[] {
  const document = new ValueDocument(value, baseline);
  return document
    .rows(new Set(document.firstOpen()))
    .map((row) =>
      [
        `${'  '.repeat(row.depth)}${row.name}=${row.open === true ? '' : row.text}`,
        row.change,
        row.oldText === undefined ? undefined : `was ${row.oldText}`,
      ]
        .filter((part) => part !== undefined)
        .join(' '),
    );
}

describe('a value as a tree', () => {
  it('expands as many levels as fit on a screen', () => {
    assert.deepEqual(rowsOf({ a: 1, b: { c: [true, null] } }), ['a=1', 'b=', '  c=', '    0=true', '    1=null']);
    const wide = { list: Array.from({ length: 100 }, (_, i) => i), name: 'x' };
    assert.deepEqual(rowsOf(wide), ['list=[100]', 'name=x']);
  });

  it('folds long lists into ranges and expands them one by one', () => {
    const document = new ValueDocument(Array.from({ length: 450 }, (_, i) => i));
    const closed = document.rows(new Set(document.firstOpen()));
    assert.deepEqual(
      closed.map((row) => row.name),
      ['0 … 199', '200 … 399', '400 … 449'],
    );
    const opened = document.rows(new Set([closed[1]?.key ?? '']));
    assert.equal(opened.length, 3 + RANGE);
    assert.deepEqual([opened[2]?.key, opened[2]?.text], ['/200', '200']);
  });

  it('shows JSON text as a tree, and any other text as lines', () => {
    assert.deepEqual(rowsOf('{"ok": false}'), ['ok=false']);
    assert.deepEqual(new ValueDocument('{"ok": ').shape().forms, ['text']);
    const text = new ValueDocument(`one\r\ntwo\n${'x'.repeat(4_500)}`);
    assert.equal(text.count('text'), 5);
    assert.deepEqual(text.lines('text', 0, 2), ['one', 'two']);
    assert.equal(text.whole().text.length, 4_509);
  });

  it('marks changed, added, and removed values', () => {
    assert.deepEqual(
      rowsOf({ id: 17, days: 14, note: 'n', deep: { a: 2 } }, { id: 17, days: 7, gone: true, deep: { a: 1 } }),
      ['id=17', 'days=14 changed was 7', 'note=n added', 'deep= changed', '  a=2 changed was 1', 'gone=true removed'],
    );
    assert.deepEqual(rowsOf([1], { a: 1 }), ['0=1'], 'a list is not compared with a record');
  });

  it('keeps a user’s own $ keys and does not take them for references', () => {
    assert.deepEqual(rowsOf({ $$blob: 'mine' }), ['$blob=mine']);
  });

  it('offers a table only for a list of similar records', () => {
    assert.deepEqual(new ValueDocument([{ a: 1, b: 'x' }, { a: 2 }]).shape().table, { columns: ['a', 'b'], rows: 2 });
    assert.deepEqual(new ValueDocument([{ a: 1, b: 'x' }, { a: 2 }]).cells(1, 2), [['2', '']]);
    assert.equal(new ValueDocument([{ a: [1] }, { a: [2] }]).shape().table, undefined);
    assert.equal(new ValueDocument([1, 2]).shape().table, undefined);
  });

  it('shows pictures in the value', () => {
    assert.deepEqual(new ValueDocument('data:image/png;base64,AAAA').shape().forms, ['image', 'text']);
    assert.deepEqual(new ValueDocument('data:text/html;base64,AAAA').shape().forms, ['text']);
  });

  it('says when there is nothing in it', () => {
    assert.deepEqual([rowsOf({}), rowsOf([]), rowsOf(null)].flat(), ['={}', '=[0]', '=null']);
  });
});
