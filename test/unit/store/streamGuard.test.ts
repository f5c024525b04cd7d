import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { follow, type StreamGuard } from '../../../src/store/logic/streamGuard.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { endOf, event, logLine } from '../../support/trajectories.ts';

const EMPTY: StreamGuard = { from: 1, open: {} };

function problem(guard: StreamGuard, events: readonly TraceEvent[], epoch = 1): string | undefined {
  const followed = follow(guard, epoch, events);
  return 'problem' in followed ? followed.problem : undefined;
}

const open = (seq: number): TraceEvent => event(seq, 'world.open', { world: 'w', kind: 'module' });
const score = (seq: number, value: number | null): TraceEvent =>
  event(seq, 'score', { scorer: 'exact', value, passed: value === null ? null : value === 1 });
const end = (seq: number, reward: number | null, over: Parameters<typeof endOf>[0] = {}): TraceEvent =>
  event(seq, 'rollout.end', endOf({ reward, passed: reward === null ? null : reward === 1, ...over }));

describe('the guard of a stream', () => {
  it('is the same object when nothing changes', () => {
    const followed = follow(EMPTY, 1, [logLine(1), logLine(2)]);
    assert.equal('guard' in followed && followed.guard, EMPTY);
  });

  it('tracks open spans by their kind', () => {
    const close = event(2, 'world.close', { ms: 1 }, { span: 1 });
    assert.equal(problem(EMPTY, [open(1), close]), undefined);
    assert.match(problem(EMPTY, [open(1), close, { ...close, seq: 3 }]) ?? '', /event 3 .*not open/);
    const other = event(2, 'agent.end', { status: 'ok' }, { span: 1 });
    assert.match(problem(EMPTY, [open(1), other]) ?? '', /event 2 .*not open/);
  });

  it('lets a fork end only the spans in which it was cut', () => {
    const fork: StreamGuard = { from: 10, open: {} };
    assert.equal(problem(fork, [event(10, 'world.close', { status: 'cut' }, { span: 3 })]), undefined);
    assert.match(problem(fork, [event(10, 'world.close', { ms: 1 }, { span: 3 })]) ?? '', /not open/);
  });

  it('accepts scores in the epoch in which scoring began, and the matching reward in each later one', () => {
    const scoring: StreamGuard = { ...EMPTY, scoring: 1 };
    assert.match(problem(scoring, [score(1, 1)], 2) ?? '', /before scoring began/);
    const scored = follow(scoring, 1, [score(1, 1)]);
    assert.ok('guard' in scored);
    assert.equal(problem(scored.guard, [open(2), end(3, 1)], 2), undefined);
    assert.match(problem(scored.guard, [end(2, 0)], 2) ?? '', /differs from the score/);
    assert.match(problem(scored.guard, [end(2, null)], 2) ?? '', /differs from the score/);
    assert.equal(problem(scored.guard, [end(2, null, { status: 'cancelled' })], 2), undefined);
    const unscorable = follow(scoring, 1, [score(1, null)]);
    assert.ok('guard' in unscorable);
    assert.equal(problem(unscorable.guard, [end(2, null)]), undefined);
  });

  it('accepts calls of side models while scoring, but none of an agent', () => {
    const scoring: StreamGuard = { ...EMPTY, scoring: 1 };
    const call = (side?: string): TraceEvent =>
      event(1, 'model.start', { step: 1, context: [], sampling: {}, ...(side === undefined ? {} : { side }) });
    assert.equal(problem(scoring, [call('judge')]), undefined);
    assert.match(problem(scoring, [call()]) ?? '', /action of the agent after scoring began/);
  });

  it('accepts no reward without scoring, however the rollout ends', () => {
    for (const status of ['done', 'truncated', 'cancelled', 'infrastructure'] as const)
      assert.match(problem(EMPTY, [end(1, 1, { status })]) ?? '', /reward before scoring began/);
    assert.equal(problem(EMPTY, [end(1, null, { status: 'infrastructure' })]), undefined);
  });
});
