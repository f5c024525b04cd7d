// The time scale of the axis, and the idle times that it collapses.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { idleTimes, merged, without } from '../../../../webview/trajectory/axis/idle.ts';
import { Lanes } from '../../../../webview/trajectory/axis/lanes.ts';
import { collapsing, LINEAR, TimeScale } from '../../../../webview/trajectory/axis/scale.ts';
import { Stream } from '../../../support/stream.ts';

/** 1 s, a minute held, 1 s, two minutes held, 1 s. */
const CUTS = [
  { from: 1_000, to: 61_000 },
  { from: 62_000, to: 182_000 },
];
const WHOLE = { from: 0, to: 183_000 };
const WIDTH = 1_000;

describe('a time scale', () => {
  const scale = new TimeScale(CUTS, 500);
  const x = (value: number): number => Math.round(scale.x(value, WHOLE, WIDTH));

  it('gives every collapsed interval the same width, and everything else the same pixels per second', () => {
    assert.deepEqual([0, 1_000, 61_000, 62_000, 182_000, 183_000].map(x), [0, 250, 375, 625, 750, 1_000]);
    assert.equal(x(31_000), 313);
  });

  it('converts back, also inside a collapsed interval and of a part', () => {
    for (const range of [WHOLE, { from: 500, to: 61_500 }, { from: 30_000, to: 63_000 }])
      for (const value of [0, 999, 1_000, 1_001, 40_000, 61_000, 61_900, 150_000, 182_500, 200_000])
        assert.ok(Math.abs(scale.valueAt(scale.x(value, range, WIDTH), range, WIDTH) - value) < 0.01, String(value));
  });

  it('keeps the place under the pointer while it zooms, and stays inside the whole', () => {
    for (const at of [200, 30_000, 61_500, 182_900]) {
      const range = scale.zoomed(WHOLE, at, 0.5, WHOLE);
      assert.ok(Math.abs(scale.x(at, range, WIDTH) - scale.x(at, WHOLE, WIDTH)) < 0.01);
      const far = scale.zoomed(range, at, 8, WHOLE);
      assert.deepEqual(far, WHOLE);
    }
    const part = { from: 0, to: 1_000 };
    assert.deepEqual(scale.panned(part, 0.5, WHOLE), { from: 500, to: 61_000 });
    assert.deepEqual(scale.panned(part, -3, WHOLE), part);
    assert.deepEqual(scale.centered(part, 183_000, WHOLE), { from: 182_000, to: 183_000 });
    assert.deepEqual(scale.within({ from: -1_000, to: 500 }, WHOLE), { from: 0, to: 61_000 });
  });

  it('labels no time inside a collapsed interval', () => {
    const ticks = scale.ticks(WHOLE, WIDTH, 80, true);
    assert.deepEqual(ticks, [0, 500, 1_000, 61_000, 61_500, 62_000, 182_000, 182_500, 183_000]);
    assert.deepEqual(LINEAR.ticks({ from: 1, to: 19 }, WIDTH, 80, false), [2, 4, 6, 8, 10, 12, 14, 16, 18]);
    const days = new TimeScale([{ from: 10, to: 9e8 }], 5);
    assert.ok(days.ticks({ from: 0, to: 9e8 + 10 }, WIDTH, 80, true).length < 20, 'jumps over the interval');
  });

  it('collapses only what would take more room than its mark', () => {
    assert.equal(collapsing([], 10_000, WIDTH), LINEAR);
    assert.equal(collapsing([{ from: 0, to: 900 }], 10_000, WIDTH), LINEAR);
    assert.equal(collapsing([{ from: 0, to: 5_000 }], 1_000_000, WIDTH), LINEAR);
    const collapsed = collapsing(CUTS, 183_000, WIDTH);
    assert.deepEqual(collapsed.cuts, CUTS);
    const width = collapsed.x(61_000, WHOLE, WIDTH) - collapsed.x(1_000, WHOLE, WIDTH);
    assert.equal(Math.round(width), 44);
    const many = Array.from({ length: 100 }, (_, index) => ({ from: index * 10_000, to: index * 10_000 + 9_000 }));
    const crowded = collapsing(many, 1_000_000, WIDTH);
    const all = many.reduce(
      (sum, { from, to }) =>
        sum + crowded.x(to, { from: 0, to: 1_000_000 }, WIDTH) - crowded.x(from, { from: 0, to: 1_000_000 }, WIDTH),
      0,
    );
    assert.ok(Math.abs(all - 300) < 1, `${all} pixels for all`);
    assert.deepEqual(collapsing([{ from: 0, to: 5_000 }], 5_000, WIDTH).cuts, [{ from: 0, to: 5_000 }], 'nothing else');
  });
});

describe('idle times', () => {
  it('are the time before the first step, and holds while no other call runs', () => {
    const s = new Stream();
    s.start();
    const start = s.events[0]!.at;
    const at = (ms: number): void => void (s.events.at(-1)!.at = start + ms);
    const step = s.add('model.start', { step: 1, model: 'demo', context: [], sampling: {} });
    at(4_000);
    s.add('model.end', { status: 'ok', ms: 1_000, source: 'live', trainable: true }, { span: step });
    at(5_000);
    const look = s.toolStart('c1', 'look', {});
    at(5_000);
    const slow = s.toolStart('c2', 'slow', {});
    at(5_000);
    s.add('hold', { why: 'breakpoint', side: 'before' }, { span: look });
    at(5_500);
    s.toolEnd(slow, 'c2', 'done', { ms: 5_000 });
    at(10_000);
    s.add('release', { how: 'continue', held_ms: 94_500 }, { span: look });
    at(100_000);
    s.toolEnd(look, 'c1', 'done', { ms: 500 });
    at(100_500);
    s.add('hold', { why: 'pause', side: 'before' });
    at(101_000);
    const model = new TrajectoryModel();
    model.push(s.events);
    const lanes = new Lanes(model);
    lanes.advance();
    assert.deepEqual(idleTimes(lanes), [
      { from: 0, to: 4_000, held: false, text: '4.0 s before the first step' },
      { from: 10_000, to: 100_000, held: true, text: 'Held for 1 min 30 s: breakpoint' },
    ]);
    assert.equal(idleTimes(lanes), idleTimes(lanes));
  });

  it('none in a recording without times', () => {
    const s = new Stream();
    s.start({ times: 'none' });
    s.model('Hello');
    const model = new TrajectoryModel();
    model.push(s.events);
    const lanes = new Lanes(model);
    lanes.advance();
    assert.deepEqual(idleTimes(lanes), []);
  });

  it('are computed from ranges', () => {
    const ranges = [5, 1, 3].map((from) => ({ from, to: from + 1 }));
    assert.deepEqual(merged([...ranges, { from: 2, to: 3 }]), [
      { from: 1, to: 4 },
      { from: 5, to: 6 },
    ]);
    assert.deepEqual(
      without(
        [
          { from: 0, to: 10 },
          { from: 20, to: 30 },
        ],
        [
          { from: 2, to: 3 },
          { from: 5, to: 22 },
          { from: 29, to: 40 },
        ],
      ),
      [
        { from: 0, to: 2 },
        { from: 3, to: 5 },
        { from: 22, to: 29 },
      ],
    );
  });
});
