import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../../src/common/json.ts';
import type { ToolSpan } from '../../../src/trace/model/spans.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import type { Change, Check, Effect } from '../../../src/trace/schema.ts';
import { worldMark } from '../../../src/trace/worldMarks.ts';
import { Stream } from '../../support/stream.ts';

const due = (key: string, before: string, after: string): Change => ({
  ...{ table: 'loans', key, op: 'update' },
  before: { due: before },
  after: { due: after },
});

describe('calls of a world', () => {
  const stream = new Stream();
  stream.start();
  const seqs: number[] = [];
  const call = (changes: readonly Change[], effect: Effect = 'restorable', error = false): void => {
    const seq = stream.add('tool.start', { call: `c${seqs.length}`, name: 'renew', arguments: {}, effect });
    if (changes.length > 0) stream.diff([...changes], seq);
    stream.toolEnd(seq, `c${seqs.length}`, 'ok', error ? { error: { class: 'tool_error', message: 'no' } } : {});
    seqs.push(seq);
  };
  call([due('L-1', 'May', 'June')]);
  call([]);
  call([], 'pure');
  call([], 'restorable', true);
  call([], 'irreversible');
  call([due('L-2', 'May', 'June'), due('L-1', 'June', 'July')]);
  call([due('L-3', 'May', 'June'), { table: 'log', key: 7, op: 'insert', after: { event: 'renewed' } }]);
  call([due('L-3', 'June', 'May')]);
  const check = (key: string, expected: Json, passed: boolean): Check => ({
    ...{ name: `loans ${key}`, passed, expected },
    row: { table: 'loans', key, before: { due: 'May' } },
  });
  const marks = (passed: boolean, checks: Check[]): (readonly [string, readonly string[]] | undefined)[] => {
    const model = new TrajectoryModel();
    model.push(stream.events);
    const scored = new Stream(stream.last + 1);
    scored.add('score', { scorer: 'world', value: 0, passed, checks });
    model.push(scored.events);
    return seqs.map((seq) => {
      const mark = worldMark(model, model.span(seq) as ToolSpan);
      return mark === undefined ? undefined : ([mark.kind, mark.rows] as const);
    });
  };
  const NOTHING = ['unchanged', []] as const;

  it('are marked if they succeeded and changed nothing, but are not pure', () => {
    assert.deepEqual(marks(true, []), [undefined, NOTHING, ...Array.from({ length: 6 }, () => undefined)]);
  });

  it('are marked if they changed rows that the task does not touch, and that are still changed at the end', () => {
    const found = marks(false, [check('L-1', { due: 'July' }, true), check('L-2', { due: 'May' }, false)]);
    assert.deepEqual(found[0], undefined);
    assert.deepEqual(found[5], ['unrelated', ['loans L-2']], 'a check expects it as it was');
    assert.deepEqual(found[6], ['unrelated', ['log 7']], 'no check names it, and L-3 was put back');
    assert.deepEqual(found[7], undefined);
  });

  it('are not marked where the verdict names no rows', () => {
    assert.equal(marks(false, [{ name: 'answer', passed: false }])[6], undefined);
  });

  it('show all known rows at a step', () => {
    const model = new TrajectoryModel();
    model.push(stream.events);
    const rows = (seq: number): unknown[] =>
      model.worldChanges.knownAt(seq).map(({ key, op, after }) => [key, op, after]);
    assert.deepEqual(rows(1), [
      ['L-1', 'update', { due: 'May' }],
      ['L-2', 'update', { due: 'May' }],
      ['L-3', 'update', { due: 'May' }],
    ]);
    assert.deepEqual(rows(stream.last), [
      ['L-1', 'update', { due: 'July' }],
      ['L-2', 'update', { due: 'June' }],
      ['L-3', 'update', { due: 'May' }],
      [7, 'insert', { event: 'renewed' }],
    ]);
  });
});
