// Where the calls of two attempts first differ.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsIn, type FirstSplit, SplitFinder } from '../../../../src/trace/align/firstSplit.ts';
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import { Stream } from '../../../support/stream.ts';

/** An attempt that makes these calls. */
function attempt(calls: readonly (readonly [string, number, string?])[]): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.message('user', 'Renew both');
  calls.forEach(([name, loan, agent], index) => {
    const envelope = agent === undefined ? {} : { agent };
    s.model('', [{ id: `c${index}`, name, arguments: { loan } }], envelope);
    s.toolEnd(s.toolStart(`c${index}`, name, { loan }, envelope), `c${index}`, index);
  });
  s.end();
  return s.events;
}

function splitOf(own: readonly TraceEvent[], other: readonly TraceEvent[]): FirstSplit | undefined {
  const finder = new SplitFinder(callsIn(own));
  finder.add(other);
  return finder.split;
}

describe('the divergence of two attempts', () => {
  it('is the first call with another tool, other arguments, or another agent', () => {
    const own = attempt([
      ['find', 1],
      ['renew', 17],
      ['pay', 4],
    ]);
    for (const other of [
      attempt([
        ['find', 1],
        ['renew', 17],
        ['close', 4],
      ]),
      attempt([
        ['find', 1],
        ['renew', 17],
        ['pay', 5],
        ['renew', 1],
      ]),
      attempt([
        ['find', 1],
        ['renew', 17],
        ['pay', 4, 'desk'],
      ]),
    ]) {
      const split = splitOf(own, other);
      assert.equal(split?.common, 2);
      assert.equal(split.own?.seq, callsIn(own)[2]?.seq);
      assert.equal(split.other?.seq, callsIn(other)[2]?.seq);
    }
  });

  it('is the end of the one with fewer calls', () => {
    const short = attempt([['find', 1]]);
    const long = attempt([
      ['find', 1],
      ['renew', 17],
    ]);
    assert.deepEqual(splitOf(short, long), { common: 1, other: callsIn(long)[1] });
    assert.deepEqual(splitOf(long, short), { common: 1, own: callsIn(long)[1] });
    assert.deepEqual(splitOf(attempt([]), short), { common: 0, other: callsIn(short)[0] });
  });

  it('is undefined when both have the same calls, in whatever order their arguments are', () => {
    const own = attempt([
      ['find', 1],
      ['renew', 17],
    ]);
    assert.equal(
      splitOf(
        own,
        attempt([
          ['find', 1],
          ['renew', 17],
        ]),
      ),
      undefined,
    );
    const s = new Stream();
    s.toolStart('a', 'put', { x: 1, y: 2 });
    const t = new Stream();
    t.toolStart('b', 'put', { y: 2, x: 1 });
    assert.equal(splitOf(s.events, t.events), undefined);
  });

  it('is reported as soon as it was read', () => {
    const own = attempt([
      ['find', 1],
      ['renew', 17],
    ]);
    const other = attempt([
      ['find', 2],
      ['renew', 17],
    ]);
    const first = other.findIndex((event) => event.kind === 'tool.start') + 1;
    const finder = new SplitFinder(callsIn(own));
    assert.equal(finder.add(other.slice(0, first - 1)), false);
    assert.equal(finder.add(other.slice(first - 1, first)), true);
    const { split } = finder;
    assert.equal(finder.add(other.slice(first)), true);
    assert.equal(finder.split, split);
  });
});
