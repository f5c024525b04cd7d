// Changed rows of a world by table, and a model's confidence in its tokens.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { tokensOf } from '../../../../src/trace/tokens.ts';
import { binsOf, heatOf, summaryOf } from '../../../../webview/trajectory/detail/parts/tokenHeat.ts';
import { cellOf, groupsOf, type WorldChange, widthsOf } from '../../../../webview/world/worldTable.ts';
import { Stream } from '../../../support/stream.ts';

const LOAN: WorldChange = {
  table: 'loans',
  key: 17,
  op: 'update',
  before: { title: 'The Salt Road', due: '05-08', tags: ['a'] },
  after: { title: 'The Salt Road', due: '05-15', tags: ['a'] },
};
const LOG: WorldChange = { table: 'desk_log', key: 412, op: 'insert', after: { event: 'renewed' } };

describe('changed rows', () => {
  it('are grouped by table, the first changed one first', () => {
    const groups = groupsOf([
      LOAN,
      LOG,
      { ...LOAN, key: 18, op: 'delete' },
      { file: 'notes.md', key: 'notes.md', op: 'update', before: 'a', after: 'b' },
    ]);
    assert.deepEqual(
      groups.map(({ name, columns, counts }) => [name, columns, counts]),
      [
        ['loans', ['due', 'title', 'tags'], '1 changed, 1 removed'],
        ['desk_log', ['event'], '1 added'],
        ['notes.md', [], '1 changed'],
      ],
    );
  });

  it('show old and new values only where they differ', () => {
    assert.deepEqual(cellOf(LOAN, 'due'), { changed: true, old: '05-08', now: '05-15' });
    assert.deepEqual(cellOf(LOAN, 'tags'), { changed: false, now: '["a"]' });
    assert.deepEqual(cellOf(LOG, 'event'), { changed: false, now: 'renewed' });
    assert.deepEqual(cellOf({ ...LOAN, after: { title: 'The Salt Road' } }, 'due'), { changed: true, old: '05-08' });
    assert.deepEqual(cellOf({ file: 'a', key: 'a', op: 'update', before: 1, after: 2 }, undefined), {
      changed: true,
      old: '1',
      now: '2',
    });
  });

  it('have columns as wide as their content, up to a limit', () => {
    const [group] = groupsOf([
      LOAN,
      { ...LOAN, key: 'a long key', after: { title: 'x'.repeat(500), due: '05-15', tags: ['a'] } },
    ]);
    assert.ok(group !== undefined);
    const [key = 0, ...columns] = widthsOf(group);
    assert.equal(key, 'a long key'.length + 2);
    assert.deepEqual(
      columns.map((width) => width <= 30),
      [true, true, true],
    );
    assert.ok((columns[group.columns.indexOf('due')] ?? 0) >= '05-08 05-15'.length);
  });
});

describe('the token heat map', () => {
  it('ranges from certain to a probability of one in ten', () => {
    assert.deepEqual(
      [heatOf(0), heatOf(-2.3), heatOf(-9), heatOf(undefined), heatOf(Number.NaN), heatOf(0.001)],
      [0, 1, 1, 0, 0, 0],
    );
    assert.deepEqual(summaryOf([]), undefined);
    assert.deepEqual(summaryOf([-1, -3]), { mean: -2, lowest: -3 });
  });

  it('shows the least certain token of each bin, over all tokens', () => {
    const logprobs = Array.from({ length: 1_000 }, (_, i) => (i === 777 ? -2 : -0.1));
    const bins = binsOf(logprobs, 100);
    assert.equal(bins.length, 100);
    assert.deepEqual(
      bins.filter((bin) => bin.heat > 0.5).map((bin) => bin.index),
      [777],
    );
    assert.deepEqual(
      binsOf([-1, -2], 100).map((bin) => bin.index),
      [0, 1],
    );
    assert.deepEqual(binsOf([], 100), []);
  });

  it('counts correctly when the beginning of a prompt is missing', async () => {
    const s = new Stream();
    s.start();
    const records: Record<string, unknown> = { b: { prompt: { of: 2, keep: 4, ids: [9, 9] }, completion: [5] } };
    const spans = ['a', 'b'].map((name) => {
      const span = s.model(name);
      const end = s.events.at(-1);
      if (end?.kind === 'model.end')
        Object.assign(end.data, { tokens: { $blob: name, bytes: 1, media: 'application/json', head: '' } });
      return span;
    });
    const model = new TrajectoryModel();
    model.push(s.events);
    const span = model.span(spans[1] ?? 0);
    assert.ok(span?.kind === 'model');
    const read = (ref: { $blob: string }): Promise<unknown> =>
      ref.$blob in records ? Promise.resolve(records[ref.$blob]) : Promise.reject(new Error('gone'));
    assert.deepEqual(await tokensOf(model, span, read), {
      prompt: [9, 9],
      kept: 4,
      missing: 4,
      completion: [5],
      logprobs: undefined,
    });
    records['a'] = { prompt: { ids: [1, 2, 3] }, completion: [4] };
    assert.deepEqual(await tokensOf(model, span, read), {
      prompt: [1, 2, 3, 4, 9, 9],
      kept: 4,
      missing: 0,
      completion: [5],
      logprobs: undefined,
    });
  });
});
