import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Fingerprint } from '../../../src/trace/fingerprint.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { lendingDesk, Stream } from '../../support/stream.ts';

function digest(events: readonly TraceEvent[]): string {
  const fingerprint = new Fingerprint();
  for (const event of events) fingerprint.add(event);
  return fingerprint.digest();
}

interface StepOptions {
  ids?: string;
  input?: string;
  says?: string;
  results?: [string, string];
  order?: 'first' | 'second';
  args?: object;
}

/** One step with two parallel calls and a closing message. */
function stepEvents({
  ids = 'c',
  input = 'hello',
  says = 'two calls',
  results = ['one', 'two'],
  order = 'first',
  args = { a: 1, b: 2 },
}: StepOptions = {}): Stream {
  const s = new Stream();
  s.start();
  s.message('user', input);
  s.model(says, [
    { id: `${ids}1`, name: 'f', arguments: args as never },
    { id: `${ids}2`, name: 'g', arguments: {} },
  ]);
  const spans = [s.toolStart(`${ids}1`, 'f', args as never), s.toolStart(`${ids}2`, 'g', {})] as const;
  for (const i of order === 'first' ? ([0, 1] as const) : ([1, 0] as const))
    s.toolEnd(spans[i], `${ids}${i + 1}`, results[i]);
  s.model('done');
  return s;
}

describe('Fingerprint', () => {
  const base = digest(stepEvents().events);

  it('does not depend on IDs, times, input messages, key order, or the order of parallel results', () => {
    for (const same of [
      { ids: 'other' },
      { input: 'good day' },
      { order: 'second' as const },
      { args: { b: 2, a: 1 } },
    ]) {
      assert.equal(digest(stepEvents(same).events), base, JSON.stringify(same));
    }
    const later = stepEvents().events.map((event) => ({ ...event, at: event.at + 1e6 }));
    assert.equal(digest(later), base);
  });

  it('depends on messages, calls, and results', () => {
    const others = [
      { says: 'three calls' },
      { results: ['one', 'three'] as [string, string] },
      { results: ['two', 'one'] as [string, string] },
      { args: { a: 1, b: 3 } },
    ];
    for (const other of others) assert.notEqual(digest(stepEvents(other).events), base, JSON.stringify(other));
  });

  it('distinguishes a failed call from one that returned the same text', () => {
    const events = stepEvents().events.map(
      (event): TraceEvent =>
        event.kind === 'tool.end' ? { ...event, data: { ...event.data, status: 'error' } } : event,
    );
    assert.notEqual(digest(events), base);
  });

  it('counts the result in the end event before the response in the message', () => {
    const events = stepEvents().events.map(
      (event): TraceEvent =>
        event.kind === 'tool.end' ? { ...event, data: { ...event.data, result: 'more' } } : event,
    );
    assert.notEqual(digest(events), base);
  });

  it('can be read at any time without an effect on what follows', () => {
    const fingerprint = new Fingerprint();
    const seen = new Set<string>();
    for (const event of lendingDesk().events) {
      fingerprint.add(event);
      seen.add(fingerprint.digest());
    }
    assert.equal(fingerprint.digest(), digest(lendingDesk().events));
    assert.ok(seen.size >= 6); // nothing, three turns, three results
    assert.match(fingerprint.digest(), /^[0-9a-f]{64}$/);
  });

  it('does not depend on how parallel agents are interleaved', () => {
    const both = (order: readonly string[]): TraceEvent[] => {
      const s = new Stream();
      for (const agent of order) s.model(`${agent} speaks`, [], { agent });
      return s.events;
    };
    assert.equal(digest(both(['desk/a#1', 'desk/b#2'])), digest(both(['desk/b#2', 'desk/a#1'])));
    assert.notEqual(digest(both(['desk/a#1', 'desk/b#2'])), digest(both(['desk/a#1', 'desk/a#1'])));
  });

  it('includes results of calls that no message requested', () => {
    const observed = (result: string): TraceEvent[] => {
      const s = new Stream();
      s.toolEnd(s.toolStart('x', 'f', {}), 'x', result);
      return s.events;
    };
    assert.notEqual(digest(observed('a')), digest(observed('b')));
  });
});
