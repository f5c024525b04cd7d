// The attempt that passed and shares the longest prefix.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../../src/trace/summary.ts';
import { splitAmong, splitCandidates, splitFrom } from '../../../../webview/data/split.ts';
import { Stream } from '../../../support/stream.ts';

function attempt(tools: readonly string[]): TraceEvent[] {
  const s = new Stream();
  s.start();
  tools.forEach((name, index) => {
    s.model('', [{ id: `c${index}`, name, arguments: {} }]);
    s.toolEnd(s.toolStart(`c${index}`, name, {}), `c${index}`, 'ok');
  });
  s.model('Done');
  s.end();
  return s.events;
}

function row(
  rollout: string,
  number: number,
  tools: readonly string[],
  passed: boolean,
  over: Partial<RolloutRow> = {},
): RolloutRow {
  return {
    rollout,
    batch: 'b',
    task: 't',
    task_index: 0,
    attempt: number,
    try: 1,
    state: 'ended',
    epoch: 1,
    last: 1,
    settles: true,
    rev: 1,
    progress: { ...EMPTY_PROGRESS, tools: [...new Set(tools)], status: 'done', passed },
    ...over,
  };
}

/** Streams by name, and how many events of each were requested. */
function streams(eventsOf: Readonly<Record<string, readonly TraceEvent[]>>): {
  events: (
    stream: string,
    page?: { after?: number; limit?: number },
  ) => Promise<{ events: TraceEvent[]; last: number }>;
  readonly read: Map<string, number>;
} {
  const read = new Map<string, number>();
  return {
    read,
    events: (stream, { after = 0, limit = 100 } = {}) => {
      const events = (eventsOf[stream] ?? []).slice(after, after + limit);
      read.set(stream, (read.get(stream) ?? 0) + events.length);
      return Promise.resolve({ events, last: eventsOf[stream]?.length ?? 0 });
    },
  };
}

const signal = new AbortController().signal;

describe('the divergence from an attempt that passed', () => {
  it('is looked for in attempts that passed, first in those with the same tools', () => {
    const rows = [
      row('own', 1, ['find', 'renew'], false),
      row('other-way', 2, ['pay'], true),
      row('failed', 3, ['find', 'renew'], false),
      row('like', 4, ['find', 'renew', 'pay'], true),
      row('copy', 5, ['find'], true, { duplicate_of: 'like' }),
      row('runs', 6, ['find'], true, { state: 'running' }),
      row('old', 7, ['find'], true, { settles: false }),
      row('new', 7, ['find'], false, { try: 2 }),
    ];
    assert.deepEqual(
      splitCandidates('own', rows).map((found) => found.rollout),
      ['like', 'other-way'],
    );
  });

  it('is reported for the one with the longest shared prefix', async () => {
    const own = attempt(['find', 'renew', 'close']);
    const near = attempt(['find', 'renew', 'pay']);
    const model = new TrajectoryModel();
    model.push(own);
    const split = await splitFrom(
      streams({ far: attempt(['pay']), near }),
      model,
      [row('far', 2, ['pay'], true), row('near', 3, ['find', 'renew', 'pay'], true)],
      signal,
    );
    assert.deepEqual(
      [split?.other.rollout, split?.common, split?.seq, split?.otherSeq],
      ['near', 2, model.tools[2]?.seq, near.findLast((event) => event.kind === 'tool.start')?.seq],
    );
  });

  it('is the same when all attempts were read already', async () => {
    const model = new TrajectoryModel();
    model.push(attempt(['find', 'renew', 'close']));
    const events: Readonly<Record<string, readonly TraceEvent[]>> = {
      far: attempt(['pay']),
      long: attempt(['find', ...Array.from({ length: 300 }, () => 'pay')]),
      near: attempt(['find', 'renew', 'pay']),
    };
    const candidates = [row('far', 2, ['pay'], true), row('long', 3, ['find'], true), row('near', 4, ['find'], true)];
    const split = splitAmong(model, candidates, (rollout) => events[rollout] ?? []);
    assert.equal(split?.other.rollout, 'near');
    assert.deepEqual(split, await splitFrom(streams(events), model, candidates, signal));
  });

  it('is the answer when the calls are the same, and when this attempt has fewer', async () => {
    const model = new TrajectoryModel();
    model.push(attempt(['find']));
    const answer = model.steps.at(-1)?.seq;
    const same = attempt(['find']);
    const alike = await splitFrom(streams({ same }), model, [row('same', 2, ['find'], true)], signal);
    assert.deepEqual(
      [alike?.seq, alike?.otherSeq, alike?.common],
      [answer, same.findLast((event) => event.kind === 'model.start')?.seq, 1],
    );
    const longer = attempt(['find', 'renew']);
    const more = await splitFrom(streams({ longer }), model, [row('longer', 2, ['find', 'renew'], true)], signal);
    assert.deepEqual(
      [more?.seq, more?.otherSeq],
      [answer, longer.findLast((event) => event.kind === 'tool.start')?.seq],
    );
  });

  it('reads no more than necessary, and gives up on long trajectories', async () => {
    const model = new TrajectoryModel();
    model.push(attempt(['find', 'renew']));
    const early = streams({ early: attempt(['pay', ...Array.from({ length: 2_000 }, () => 'find')]) });
    await splitFrom(early, model, [row('early', 2, ['pay'], true)], signal);
    assert.equal(early.read.get('early'), 500);
    const s = new Stream();
    for (let i = 0; i < 30_000; i++) s.add('log', { stream: 'out', text: 'x' });
    const endless = streams({ endless: s.events, next: attempt(['find']) });
    assert.equal(
      await splitFrom(endless, model, [row('endless', 2, [], true), row('next', 3, ['find'], true)], signal),
      undefined,
    );
    assert.equal(endless.read.get('endless'), 20_000);
    assert.equal(endless.read.get('next'), undefined);
  });
});
