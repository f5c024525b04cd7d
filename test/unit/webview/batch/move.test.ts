import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gridKey } from '../../../../webview/batch/grid/gridKeys.ts';
import type { GridRow } from '../../../../webview/batch/model/arrange.ts';
import { type Cursor, move, seek } from '../../../../webview/batch/model/move.ts';

const rows: GridRow[] = [
  { kind: 'group', key: 'a', name: 'a', tasks: 2, rate: undefined, open: true },
  { kind: 'task', index: 5 },
  { kind: 'task', index: 2 },
  { kind: 'group', key: 'b', name: 'b', tasks: 1, rate: undefined, open: true },
  { kind: 'task', index: 9 },
];
const size = { attempts: 8, page: 2, column: 3 };
const cell = (index: number, attempt: number): Cursor => ({ on: 'cell', index, attempt });

suite('the cursor of the grid', () => {
  test('moves through rows and columns, and stops at the edges', () => {
    assert.deepEqual(move(rows, cell(5, 4), 'down', size), cell(2, 4));
    assert.deepEqual(move(rows, cell(5, 4), 'right', size), cell(5, 5));
    assert.deepEqual(move(rows, cell(5, 8), 'right', size), cell(5, 8));
    assert.deepEqual(move(rows, cell(5, 1), 'left', size), cell(5, 1));
    assert.deepEqual(move(rows, cell(9, 4), 'down', size), cell(9, 4));
    assert.deepEqual(move(rows, cell(2, 4), 'home', size), cell(2, 1));
    assert.deepEqual(move(rows, cell(2, 4), 'end', size), cell(2, 8));
    assert.deepEqual(move(rows, cell(2, 4), 'last', size), cell(9, 8));
    assert.deepEqual(move(rows, cell(5, 4), 'pageDown', size), { on: 'group', key: 'b' });
  });

  test('returns to its column after the header of a group', () => {
    const head = move(rows, cell(2, 3), 'down', size);
    assert.deepEqual(head, { on: 'group', key: 'b' });
    assert.deepEqual(move(rows, head, 'down', size), cell(9, 3));
  });

  test('starts at the first task', () => {
    assert.deepEqual(move(rows, undefined, 'down', size), cell(5, 3));
    assert.deepEqual(move(rows, cell(77, 2), 'up', size), cell(5, 2));
    assert.equal(move([], undefined, 'down', size), undefined);
  });

  test('seeks forward in reading order, and reports when there is nothing further', () => {
    const bad = (index: number, attempt: number): boolean =>
      (index === 5 && attempt === 4) || (index === 9 && attempt === 1);
    assert.deepEqual(seek(rows, undefined, 8, 1, bad), cell(5, 4));
    assert.deepEqual(seek(rows, cell(5, 4), 8, 1, bad), cell(9, 1));
    assert.equal(seek(rows, cell(9, 1), 8, 1, bad), undefined);
    assert.deepEqual(seek(rows, cell(9, 1), 8, -1, bad), cell(5, 4));
    assert.deepEqual(seek(rows, undefined, 8, -1, bad), cell(9, 1));
  });
});

suite('the keys of the grid', () => {
  const press = (key: string, held: Partial<Record<'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey', boolean>> = {}) =>
    gridKey({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...held });

  test('open an attempt here and to the side', () => {
    assert.deepEqual(press('Enter'), { does: 'open', beside: false });
    for (const held of ['ctrlKey', 'metaKey', 'altKey'] as const)
      assert.deepEqual(press('Enter', { [held]: true }), { does: 'open', beside: true });
  });

  test('leave keys of the window alone', () => {
    for (const key of ['a', 'Tab', 'F6']) assert.equal(press(key), undefined);
    assert.equal(press('ArrowLeft', { altKey: true }), undefined);
    assert.equal(press('PageUp', { ctrlKey: true }), undefined);
    assert.deepEqual(press('Home', { ctrlKey: true }), { does: 'move', step: 'first' });
  });
});
