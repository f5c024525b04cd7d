import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ActionCall } from '../../../../src/trace/align/actions.ts';
import { foldedRows, runAt, sharedArguments, sideFields, sideRows } from '../../../../src/trace/align/twoSides.ts';
import { actions } from '../../../support/attempts.ts';

const states = (left: string, right: string): string[] =>
  sideRows(actions(left), actions(right)).map(({ state }) => state);

describe('two attempts side by side', () => {
  it('tells equal, different, and missing steps apart', () => {
    assert.deepEqual(states('a1 b1 c1 done', 'a1 b2 done'), ['same', 'differs', 'left', 'same']);
    assert.deepEqual(states('a1', 'a1 b1'), ['same', 'right']);
    assert.deepEqual(states('a1', 'a1!'), ['differs']);
  });

  it('counts the words of a final answer, but not those before it', () => {
    assert.deepEqual(states('a1 wrong', 'a1 right'), ['same', 'differs']);
    assert.deepEqual(states('hello a1 done', 'hi a1 done'), ['same', 'same', 'same']);
  });

  it('folds runs of at least two equal steps', () => {
    const rows = sideRows(actions('a1 b1 c1 a2 b1'), actions('a1 b1 c2 a2 b1'));
    assert.deepEqual(foldedRows(rows, new Set()), [{ row: 0, until: 2 }, { row: 2 }, { row: 3, until: 5 }]);
    assert.equal(foldedRows(rows, new Set([0])).length, 4);
    assert.equal(foldedRows(rows, 'all').length, 5);
    assert.deepEqual(
      rows.map((_, row) => runAt(rows, row)),
      [0, 0, undefined, 3, 3],
    );
  });

  it('lists only the fields of a call that differ, and all of them where there is only one call', () => {
    const left: ActionCall = { name: 'renew', arguments: { id: 'L', days: 7 }, result: '{"ok": false, "at": 1}' };
    const right: ActionCall = {
      name: 'renew',
      arguments: { id: 'L', days: 14 },
      result: { ok: true, at: 1 },
      changes: [{ table: 'loans', key: 'L', op: 'update', before: { due: 1, copy: 2 }, after: { due: 2, copy: 2 } }],
    };
    assert.deepEqual(sideFields(left, right), [
      { name: 'arguments', left: 'days: 7', right: 'days: 14' },
      { name: 'result', left: 'ok: false', right: 'ok: true' },
      { name: 'world', left: 'no changes', right: 'loans L due 1 → 2' },
    ]);
    assert.equal(sharedArguments(left, right), 'id: "L"');
    assert.deepEqual(sideFields(left, left), []);
    assert.deepEqual(sideFields(undefined, right), [
      { name: 'arguments', right: 'id: "L", days: 14' },
      { name: 'result', right: 'ok: true, at: 1' },
      { name: 'world', right: 'loans L due 1 → 2' },
    ]);
  });
});
