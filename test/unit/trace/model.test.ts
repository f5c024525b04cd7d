import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { Intervals } from '../../../src/trace/model/intervals.ts';
import { type AnyEvent, TrajectoryModel } from '../../../src/trace/model.ts';
import type { UnknownEvent } from '../../../src/trace/schema.ts';
import { replaceAt } from '../../../src/trace/values/pointer.ts';
import { Random } from '../../support/random.ts';
import { lendingDesk, Stream } from '../../support/stream.ts';

function modelOf(events: readonly AnyEvent[]): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(events);
  return model;
}

describe('TrajectoryModel', () => {
  it('has steps, with step 0 before the first model call', () => {
    const model = modelOf(lendingDesk().events);
    assert.equal(model.steps.length, 4);
    assert.deepEqual(model.steps[0]!.seqs, [1, 2, 3, 4, 5]);
    assert.deepEqual(
      model.steps.map((step) => step.tools.map((tool) => tool.start.data.name)),
      [[], ['find_member'], ['renew_loan', 'renew_loan'], []],
    );
    for (const step of model.steps) for (const seq of step.seqs) assert.equal(model.stepOf(seq), step);
    assert.deepEqual(
      model.steps.flatMap((step) => step.seqs),
      model.events.map((event) => event.seq),
    );
    assert.equal(model.cutOf(2), model.step(2)!.seq - 1);
    assert.equal(model.cutOf(0), 0);
    assert.equal(model.cutOf(9), undefined);
  });

  it('is the same however the events arrive', () => {
    const { events } = lendingDesk();
    const whole = modelOf(events);
    const model = new TrajectoryModel();
    for (const event of events) model.push([event, event]); // repeats are ignored
    model.push(events.slice(0, 5));
    assert.deepEqual(model.steps, whole.steps);
    assert.deepEqual(model.messages, whole.messages);
    assert.equal(model.last, events.length);
    assert.equal(model.event(7), events[6]);
    assert.equal(model.event(0), undefined);
  });

  it('refuses a gap', () => {
    const model = new TrajectoryModel();
    assert.throws(
      () => model.push(lendingDesk().events.slice(2)),
      (error) => StudioError.is(error, 'internal') && /event 3 followed event 0/.test(error.message),
    );
  });

  it('pairs starts with ends and knows the open spans at any seq', () => {
    const s = new Stream();
    const a = s.toolStart('a', 'f', {});
    const b = s.toolStart('b', 'g', {});
    s.toolEnd(b, 'b', 1);
    s.toolEnd(a, 'a', 2);
    s.toolStart('c', 'h', {});
    const model = modelOf(s.events);
    const openAt = s.events.map(({ seq }) => model.openSpans(seq).map((span) => span.seq));
    assert.deepEqual(openAt, [[1], [1, 2], [1, 2], [1], [1], [], [7]]);
    assert.deepEqual(
      model.openSpans().map((span) => span.seq),
      [7],
    );
    assert.equal(model.span(a)!.end!.seq, 6);
    assert.equal(model.call('b'), model.span(b));
  });

  it('keeps the first end of a span and ignores one of another kind', () => {
    const s = new Stream();
    const a = s.toolStart('a', 'f', {});
    s.add('model.end', { status: 'ok', trainable: false, source: 'live' }, { span: a });
    s.toolEnd(a, 'a', 1);
    s.toolEnd(a, 'a', 2);
    assert.equal(modelOf(s.events).span(a)!.end!.seq, 4);
  });

  it('finds the result of a call in its end, else in its message', () => {
    const s = new Stream();
    const a = s.toolStart('a', 'f', {});
    const b = s.toolStart('b', 'f', {});
    const c = s.toolStart('c', 'f', {});
    const m = s.message(
      'tool',
      [
        { type: 'tool_call_response', id: 'a', response: 'A' },
        { type: 'tool_call_response', id: 'b', response: 'B' },
      ],
      'tool',
    );
    s.add('tool.end', { status: 'ok', m, source: 'live' }, { span: a });
    s.add('tool.end', { status: 'ok', m, source: 'live', result: { whole: 'B' } }, { span: b });
    const model = modelOf(s.events);
    assert.deepEqual(
      model.tools.map((tool) => model.resultOf(tool)?.value),
      ['A', { whole: 'B' }, undefined],
    );
    assert.equal(model.span(c)!.end, undefined);
  });

  it('shows edits in place of the original, and keeps both', () => {
    const s = new Stream();
    const call = s.model('two plus two is five');
    s.add('edit', { of: { m: 1 }, path: '/parts/0/content', value: 'four' });
    s.message('assistant', 'four', 'edited');
    const tool = s.toolStart('a', 'f', { days: 7, ids: [1, 2] });
    s.add('edit', { of: { seq: tool }, path: '/arguments/days', value: 14 });
    s.add('edit', { of: { seq: tool }, path: '/arguments/ids/-', value: 3 });
    s.add('edit', { of: { seq: tool }, path: '/arguments/nowhere/deep', value: 0 });
    const end = s.toolEnd(tool, 'a', { due: 'may' });
    s.add('edit', { of: { seq: end }, path: '/result/due', value: 'june' });
    const model = modelOf(s.events);
    assert.equal(model.message(1)!.event.data.origin, 'sampled');
    assert.equal(model.currentMessage(1)!.m, 2);
    assert.equal(model.message(2)!.editOf, 1);
    assert.equal(model.currentMessage(1, call + 2)!.m, 1);
    const [span] = model.tools;
    assert.deepEqual(model.argumentsOf(span!), { value: { days: 14, ids: [1, 2, 3] }, edited: true });
    assert.deepEqual(span!.start.data.arguments, { days: 7, ids: [1, 2] });
    assert.deepEqual(model.resultOf(span!), { value: { due: 'june' }, edited: true });
    assert.equal(model.editsOf(tool).length, 3);
  });

  it('uses the edited tool message as the result', () => {
    const s = new Stream();
    const tool = s.toolStart('a', 'f', {});
    const end = s.toolEnd(tool, 'a', 'no');
    s.add('edit', { of: { seq: end }, path: '/result', value: 'yes' });
    s.message('tool', [{ type: 'tool_call_response', id: 'a', response: 'yes' }], 'edited');
    const model = modelOf(s.events);
    assert.deepEqual(model.resultOf(model.tools[0]!), { value: 'yes', edited: true });
  });

  it('walks the tree of starts and messages', () => {
    const s = new Stream();
    s.start();
    s.message('user', 'hi');
    const call = s.model('calling', [{ id: 'a', name: 'leader', arguments: {} }]);
    const tool = s.toolStart('a', 'leader', {});
    const agent = s.add('agent.start', { how: 'team' }, { agent: 'desk/searcher#1', parent: tool });
    const inner = s.model('found', [], { agent: 'desk/searcher#1', parent: agent });
    s.add('agent.end', { status: 'ok', ms: 3 }, { agent: 'desk/searcher#1', span: agent });
    s.toolEnd(tool, 'a', 'ok');
    const model = modelOf(s.events);
    assert.deepEqual(model.children(0), [2, call, tool]);
    assert.deepEqual(model.children(call), [call + 1]);
    assert.deepEqual(model.children(tool), [agent, s.last - 1]);
    assert.equal(model.parentOf(inner), agent);
    assert.equal(model.parentOf(agent), tool);
    assert.equal(model.parentOf(1), undefined);
    assert.equal(model.nextSibling(2), call);
    assert.equal(model.nextSibling(call), tool);
    assert.equal(model.nextSibling(tool), undefined);
    assert.equal(model.previousSibling(call), 2);
    assert.equal(model.previousSibling(2), undefined);
    // The member's call is a separate step; its start belongs to the step that called it.
    assert.equal(model.stepOf(agent)!.index, 1);
    assert.equal(model.stepOf(inner)!.index, 2);
    assert.equal(model.stepOf(s.last)!.index, 1);
    assert.deepEqual(
      model.agents.map((one) => [one.path, one.span?.seq]),
      [
        ['', undefined],
        ['desk/searcher#1', agent],
      ],
    );
  });

  it('keeps the steps of parallel agents apart', () => {
    const s = new Stream();
    s.model('a1', [{ id: 'x', name: 'f', arguments: {} }], { agent: 'a' });
    s.model('b1', [], { agent: 'b' });
    const tool = s.toolStart('x', 'f', {}, { agent: 'a' });
    s.add('log', { stream: 'out', text: 'from a' }, { agent: 'a' });
    s.toolEnd(tool, 'x', 1, { agent: 'a' });
    const model = modelOf(s.events);
    assert.deepEqual(
      model.steps.map((step) => step.seqs),
      [[], [1, 2, 3, 7, 8, 9, 10], [4, 5, 6]],
    );
  });

  it('collects holds, scores, logs, changes, errors, and leases', () => {
    const s = lendingDesk();
    const model = modelOf(s.events);
    assert.deepEqual(
      model.errors.map(({ step, error }) => [step, error.message]),
      [[2, 'limit reached']],
    );
    assert.equal(model.scores.length, 1);
    assert.equal(model.leases.length, 1);
    assert.equal(model.diffs.length, 1);
    assert.equal(model.diffsOf(model.tools[1]!.seq).length, 1);
    assert.deepEqual(model.usageAt(), { calls: 3, input_tokens: 300, output_tokens: 30, cached_tokens: 0 });
    assert.equal(model.end!.data.reward, 0);

    const held = new Stream();
    held.add('hold', { why: 'breakpoint', side: 'before' }, { span: 7 });
    held.add('hold', { why: 'breakpoint', side: 'before' }, { span: 8 });
    held.add('release', { how: 'continue', held_ms: 1 }, { span: 7 });
    held.add('rollout.lease', { epoch: 2, worker: 'w', how: 'resumed' });
    const holds = modelOf(held.events);
    assert.deepEqual(
      [1, 2, 3, 4].map((seq) => holds.holdsAt(seq).map((hold) => hold.seq)),
      [[1], [1, 2], [2], []],
    );
    assert.deepEqual(
      holds.holds.map((hold) => hold.release?.seq),
      [3, undefined],
    );
    assert.deepEqual(
      [7, 8, 9].map((span) => holds.holdsOf(span).map((hold) => hold.seq)),
      [[1], [2], []],
    );
  });

  it('keeps unknown events', () => {
    const s = lendingDesk();
    const dream = { seq: s.last + 1, v: 1, at: 0, kind: 'dream', data: { of: 'sheep' }, unknown: true } as UnknownEvent;
    const model = modelOf([...s.events, dream]);
    assert.equal(model.event(dream.seq), dream);
    assert.equal(model.stepOf(dream.seq)!.index, 3);
  });

  it('reads a fork as its prefix and its own part', () => {
    const { events } = lendingDesk();
    const cut = modelOf(events).cutOf(2)!;
    const own = new Stream(cut + 1);
    own.start({ attempt: 2, fork: { rollout: 'r1', seq: cut } });
    const model = modelOf([...events.slice(0, cut), ...own.events]);
    assert.equal(model.start!.data.attempt, 2);
    assert.equal(model.steps.length, 2);
    assert.equal(model.end, undefined);
  });
});

describe('Intervals', () => {
  it('equals a linear search', () => {
    const random = new Random(11);
    const intervals = new Intervals();
    const all: { start: number; end: number }[] = [];
    for (let seq = 1; seq <= 4_000; seq++) {
      const open = all.filter((interval) => interval.end === Infinity);
      if (random.next() < 0.5 || open.length === 0) {
        intervals.open(seq);
        all.push({ start: seq, end: Infinity });
      } else {
        const closing = open[Math.floor(random.next() * open.length)]!;
        intervals.close(closing.start, seq);
        closing.end = seq;
      }
    }
    for (let i = 0; i < 200; i++) {
      const seq = Math.floor(random.next() * 4_100);
      assert.deepEqual(
        intervals.at(seq),
        all.filter(({ start, end }) => start <= seq && end > seq).map(({ start }) => start),
        String(seq),
      );
    }
  });
});

describe('replaceAt', () => {
  it('replaces the target of a pointer and copies only its path', () => {
    const value = { a: [1, { b: 2 }], 'x/y': { '~': 3 }, other: {} };
    const changed = replaceAt(value, '/a/1/b', 5) as typeof value;
    assert.deepEqual(changed, { ...value, a: [1, { b: 5 }] });
    assert.equal(changed.other, value.other);
    assert.deepEqual(replaceAt(value, '/x~1y/~0', 4), { ...value, 'x/y': { '~': 4 } });
    assert.deepEqual(replaceAt(value, '/new', 1), { ...value, new: 1 });
    assert.equal(replaceAt(value, '', 'all'), 'all');
    assert.deepEqual(replaceAt([1], '/-', 2), [1, 2]);
  });

  it('returns undefined for an unknown place', () => {
    for (const pointer of ['a', '/b/c', '/a/7', '/a/x', '/a/0/z', '/a/-/b'])
      assert.equal(replaceAt({ a: [1] }, pointer, 0), undefined, pointer);
  });
});
