// The page's derived data is the same however events arrive: at once, or a few at a time.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import { type Choice, Look } from '../../../../webview/trajectory/look.ts';
import { FILTERS, type Filter } from '../../../../webview/trajectory/steps/rows.ts';
import { Random } from '../../../support/random.ts';
import { Stream } from '../../../support/stream.ts';

/** Calls that are sometimes equal, sometimes parallel; some fail, some change the world. */
function busy(steps: number): TraceEvent[] {
  const random = new Random(11);
  const s = new Stream();
  s.start();
  s.message('user', 'Look.');
  for (let step = 1; step <= steps; step++) {
    const calls = Array.from({ length: random.next() < 0.7 ? 1 : 3 }, (_, i) => ({
      id: `c${step}-${i}`,
      name: 'look',
      arguments: { at: random.next() < 0.8 ? 1 : step },
    }));
    s.model('', calls);
    const open = calls.map((call) => [call.id, s.toolStart(call.id, call.name, call.arguments)] as const);
    for (const [id, span] of open) {
      if (random.next() < 0.1) s.diff([{ table: 'loans', key: step, op: 'delete', before: 1 }], span);
      s.toolEnd(span, id, 'nothing', random.next() < 0.1 ? { error: { class: 'tool_error', message: 'no' } } : {});
    }
    if (random.next() < 0.1) s.message('user', 'Go on.');
  }
  s.end();
  return s.events;
}

function snapshotOf(look: Look): unknown {
  return look.shown.map((row) => ({ ...row, fold: look.foldOf(row) }));
}

describe('the look of partial events', () => {
  const events = busy(400);
  for (const only of [
    [],
    ...FILTERS.map((filter) => [filter]),
    ['errors', 'world'],
  ] as const satisfies readonly (readonly Filter[])[]) {
    it(`equals that of all at once: ${only.length === 0 ? 'everything' : only.join(' and ')}`, () => {
      const choice: Choice = { only: new Set(only), toggled: new Set() };
      const model = new TrajectoryModel();
      const growing = new Look(model, choice);
      const random = new Random(3);
      for (let at = 0; at < events.length; ) {
        const next = at + 1 + Math.floor(random.next() * 40);
        model.push(events.slice(at, next));
        growing.advance();
        at = next;
        if (random.next() > 0.1) continue;
        const whole = new TrajectoryModel();
        whole.push(events.slice(0, at));
        assert.deepEqual(snapshotOf(growing), snapshotOf(new Look(whole, choice)), `after ${at} events`);
      }
      const whole = new TrajectoryModel();
      whole.push(events);
      const all = new Look(whole, choice);
      assert.deepEqual(snapshotOf(growing), snapshotOf(all));
      for (const row of all.shown) assert.equal(growing.indexOf(row.seq), all.indexOf(row.seq));
    });
  }
});
