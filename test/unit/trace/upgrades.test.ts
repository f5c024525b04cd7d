import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { TRACE_VERSION } from '../../../src/trace/schema.ts';
import { readEvent, UPGRADES, type Upgrades } from '../../../src/trace/upgrades.ts';
import { lendingDesk } from '../../support/stream.ts';

/** As if logs had once been called `output` with a `line`, and then `log` with a `body`. */
const upgrades: Upgrades = {
  current: 3,
  steps: new Map([
    [
      1,
      (event) =>
        event.kind === 'output'
          ? { ...event, kind: 'log', data: { stream: 'out', body: (event.data as { line: string }).line } }
          : event,
    ],
    [
      2,
      (event) =>
        event.kind === 'log'
          ? { ...event, data: { stream: 'out', text: (event.data as { body: string }).body } }
          : event,
    ],
  ]),
};

describe('readEvent', () => {
  it('reads current events unchanged', () => {
    for (const event of lendingDesk().events) assert.equal(readEvent(event), event);
    assert.equal(UPGRADES.current, TRACE_VERSION);
  });

  it('has a step from every older version', () => {
    for (let v = 1; v < UPGRADES.current; v++) assert.ok(UPGRADES.steps.has(v), `from ${v}`);
  });

  it('upgrades step by step, and leaves its input unchanged', () => {
    const old = Object.freeze({
      seq: 4,
      v: 1,
      at: 5,
      kind: 'output',
      data: Object.freeze({ line: 'hello' }),
      more: 'kept',
    });
    assert.deepEqual(readEvent(old, { upgrades }), {
      seq: 4,
      v: 3,
      at: 5,
      kind: 'log',
      data: { stream: 'out', text: 'hello' },
      more: 'kept',
    });
    assert.deepEqual(readEvent({ ...old, v: 2, kind: 'log', data: { stream: 'out', body: 'b' } }, { upgrades }).data, {
      stream: 'out',
      text: 'b',
    });
  });

  it('checks the result of an upgrade, even in streams that were checked when they were written', () => {
    const broken: Upgrades = { current: 2, steps: new Map([[1, (event) => ({ ...event, data: {} })]]) };
    assert.throws(
      () => readEvent({ seq: 1, v: 1, at: 0, kind: 'log', data: {} }, { upgrades: broken, checked: true }),
      /event 1 \(log\)/,
    );
  });

  it('refuses a newer version and says what to do', () => {
    assert.throws(
      () => readEvent({ seq: 9, v: TRACE_VERSION + 1, at: 0, kind: 'log', data: {} }),
      (error) => StudioError.is(error, 'version') && /Update/.test(error.hint ?? ''),
    );
  });

  it('keeps unknown kinds and unknown fields', () => {
    const future = { seq: 1, v: 1, at: 0, kind: 'dream', data: { of: 'sheep' }, extra: 1 };
    assert.deepEqual(readEvent(future), { ...future, unknown: true });
    const more = { seq: 1, v: 1, at: 0, kind: 'log', data: { stream: 'out', text: 'x', colour: 'red' }, extra: 1 };
    assert.equal(readEvent(more), more);
  });

  it('reports the place of damage in an event', () => {
    const bad: [unknown, RegExp][] = [
      [null, /not an object/],
      ['{}', /not an object/],
      [{}, /seq/],
      [{ seq: 0 }, /seq/],
      [{ seq: 1 }, /event 1.*v:/],
      [{ seq: 1, v: 1 }, /kind/],
      [{ seq: 1, v: 1, kind: 'log' }, /at/],
      [{ seq: 2, v: 1, at: 0, kind: 'log', data: { stream: 'up', text: '' } }, /event 2 \(log\).*data\.stream/],
    ];
    for (const [raw, expected] of bad)
      assert.throws(
        () => readEvent(raw),
        (error) => StudioError.is(error, 'storage') && expected.test(error.message),
        JSON.stringify(raw),
      );
  });

  it('does not check data again that was checked when it was appended', () => {
    const odd = { seq: 2, v: 1, at: 0, kind: 'log', data: { stream: 'up' } };
    assert.equal(readEvent(odd, { checked: true }), odd);
  });
});
