// Consecutive equal rows of the step list.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { Folds } from '../../../../webview/trajectory/steps/folds.ts';
import { StepRows } from '../../../../webview/trajectory/steps/rows.ts';
import { Stream } from '../../../support/stream.ts';

/** A stream of steps with one call each: the query and its result. */
function looks(s: Stream, calls: readonly (readonly [what: string, found: string])[], text = ''): void {
  for (const [what, found] of calls) {
    const id = `c${s.last}`;
    s.model(text, [{ id, name: 'look', arguments: { what } }]);
    s.toolEnd(s.toolStart(id, 'look', { what }), id, found);
  }
}

function begun(): Stream {
  const s = new Stream();
  s.start();
  s.message('user', 'Wait for it');
  return s;
}

class Page {
  readonly model = new TrajectoryModel();
  readonly rows = new StepRows(this.model);
  readonly folds = new Folds(this.model);

  constructor(s: Stream) {
    this.model.push(s.events);
  }

  /** Kind of each visible row, and how many it stands for. */
  get visible(): string[] {
    return this.folds.shown(this.rows.all).map((row) => {
      const fold = this.folds.foldOf(row);
      return `${row.kind}${fold === undefined ? '' : fold.open ? ` of ${fold.count}` : ` x${fold.count}`}`;
    });
  }
}

describe('folds of equal rows', () => {
  it('merge three and more equal calls into one row, and leave two unchanged', () => {
    const s = begun();
    looks(s, [
      ['a', 'no'],
      ['a', 'no'],
      ['b', 'no'],
      ['b', 'no'],
      ['b', 'no'],
      ['b', 'no'],
      ['a', 'no'],
    ]);
    const page = new Page(s);
    assert.deepEqual(page.visible, ['message', 'step', 'step', 'step x4', 'step']);
    assert.deepEqual(
      page.rows.all.map((_, index) => page.folds.placeOf(index)),
      [0, 1, 2, 3, 3, 3, 3, 4],
    );
  });

  it('keep calls apart with other results, messages, or changes of the world, and open ones', () => {
    const s = begun();
    looks(s, [
      ['a', 'no'],
      ['a', 'yes'],
      ['a', 'no'],
    ]);
    assert.deepEqual(new Page(s).visible, ['message', 'step', 'step', 'step']);
    const t = begun();
    for (const text of ['one', 'two', 'three']) looks(t, [['a', 'no']], text);
    assert.deepEqual(new Page(t).visible, ['message', 'step', 'step', 'step']);
    const u = begun();
    looks(u, [
      ['a', 'no'],
      ['a', 'no'],
    ]);
    u.model('', [{ id: 'last', name: 'look', arguments: { what: 'a' } }]);
    const span = u.toolStart('last', 'look', { what: 'a' });
    assert.deepEqual(new Page(u).visible, ['message', 'step', 'step', 'step']);
    u.diff([{ table: 't', key: 1, op: 'insert', after: 1 }], span);
    u.toolEnd(span, 'last', 'no');
    assert.deepEqual(new Page(u).visible, ['message', 'step', 'step', 'step']);
  });

  it('open and close, from any row inside', () => {
    const s = begun();
    looks(s, [
      ['a', 'no'],
      ['a', 'no'],
      ['a', 'no'],
      ['b', 'no'],
    ]);
    const page = new Page(s);
    assert.deepEqual(page.visible, ['message', 'step x3', 'step']);
    assert.equal(page.folds.open(3, true), true);
    assert.deepEqual(page.visible, ['message', 'step of 3', 'step', 'step', 'step']);
    assert.equal(page.folds.open(2, true), false, 'it is open');
    assert.equal(page.folds.open(2, false), true);
    assert.deepEqual(page.visible, ['message', 'step x3', 'step']);
    assert.equal(page.folds.open(0, true), false, 'there is none');
    assert.equal(page.folds.open(4, true), false, 'there is none');
  });

  it('are the same whether the events arrive at once or one by one', () => {
    const s = begun();
    looks(s, [
      ['a', 'no'],
      ['a', 'no'],
      ['a', 'no'],
      ['b', 'no'],
    ]);
    // A step of two calls: its first is shown with it until the second arrives.
    s.model('', [
      { id: 'x', name: 'look', arguments: { what: 'b' } },
      { id: 'y', name: 'look', arguments: { what: 'b' } },
    ]);
    for (const id of ['x', 'y']) s.toolEnd(s.toolStart(id, 'look', { what: 'b' }), id, 'no');
    for (let i = 0; i < 4; i++) s.add('log', { stream: 'out', text: 'still waiting' });
    looks(s, [
      ['c', 'no'],
      ['c', 'no'],
      ['c', 'no'],
    ]);
    const whole = new Page(s);
    const growing = new Page(begun());
    for (const event of s.events.slice(growing.model.last)) {
      growing.model.push([event]);
      assert.equal(growing.visible.length > 0, true);
    }
    assert.deepEqual(whole.visible, ['message', 'step x3', 'step', 'step', 'call', 'call', 'log x4', 'step x3']);
    assert.deepEqual(growing.visible, whole.visible);
    assert.deepEqual(
      growing.rows.all.map((_, index) => growing.folds.placeOf(index)),
      whole.rows.all.map((_, index) => whole.folds.placeOf(index)),
    );
  });

  it('cost little in a long trajectory that grows', () => {
    const s = begun();
    for (let i = 0; i < 20_000; i++) looks(s, [[`${i >> 2}`, 'no']]);
    const page = new Page(s);
    page.folds.shown(page.rows.all);
    const before = performance.now();
    for (let i = 0; i < 200; i++) {
      const from = s.events.length;
      looks(s, [[`new ${i}`, 'no']]);
      page.model.push(s.events.slice(from));
      page.folds.shown(page.rows.all);
    }
    // Rebuilding all 20,000 rows 200 times takes seconds.
    assert.ok(performance.now() - before < 500, `${performance.now() - before} ms`);
  });
});
