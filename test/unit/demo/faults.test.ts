import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { luckOf, NO_FAULTS, parseFaults } from '../../../src/demo/faults.ts';

describe('settings', () => {
  it('are read from a query', () => {
    const faults = parseFaults(
      'latency_ms=50&tail=lognormal&slots=4&fail=429:0.1,503:.05&retry_after=1&cut=0.05' +
        '&malformed=0.02&chunks=20&context=2048&tools=0',
    );
    assert.deepEqual(faults, {
      ...NO_FAULTS,
      latencyMs: 50,
      tail: 'lognormal',
      slots: 4,
      fail: [
        { status: 429, p: 0.1 },
        { status: 503, p: 0.05 },
      ],
      retryAfter: 1,
      cut: 0.05,
      malformed: 0.02,
      chunks: 20,
      context: 2048,
      tools: false,
    });
    assert.equal(parseFaults('', NO_FAULTS), NO_FAULTS);
  });
  it('are reported when they are wrong', () => {
    assert.throws(() => parseFaults('latencyms=5'), /no setting `latencyms`; it has latency_ms, /);
    assert.throws(() => parseFaults('toString=5'), /no setting `toString`/);
    for (const [query, takes] of [
      ['latency_ms=fast', /a number from 0/],
      ['slots=0', /whole number of at least 1/],
      ['tail=heavy', /`fixed` or `lognormal`/],
      ['fail=429', /429:0.1/],
      ['cut=2', /from 0 to 1/],
      ['cut=', /from 0 to 1/],
    ] as const) {
      assert.throws(
        () => parseFaults(query),
        (error) => error instanceof RangeError && takes.test(error.message),
      );
    }
  });
});

describe('luck', () => {
  const faults = parseFaults('latency_ms=100&tail=lognormal&fail=429:0.2,503:0.1&cut=0.1');
  const many = Array.from({ length: 4000 }, (_, seed) => luckOf(faults, seed, 0));
  const share = (of: (luck: (typeof many)[number]) => boolean): number => many.filter(of).length / many.length;
  it('depends on seed and repetition alone', () => {
    assert.deepEqual(luckOf(faults, 7, 0), luckOf(faults, 7, 0));
    assert.notDeepEqual(luckOf(faults, 7, 0), luckOf(faults, 7, 1));
  });
  it('strikes at the configured rate', () => {
    assert.ok(Math.abs(share((luck) => luck.status === 429) - 0.2) < 0.03);
    assert.ok(Math.abs(share((luck) => luck.status === 503) - 0.1) < 0.02);
    assert.ok(Math.abs(share((luck) => luck.cutAt !== undefined) - 0.1) < 0.02);
  });
  it('has the configured median, and a heavy tail', () => {
    const sorted = many.map((luck) => luck.latencyMs).sort((a, b) => a - b);
    assert.ok(Math.abs(sorted[2000]! - 100) < 10);
    assert.ok(sorted[3960]! > 600 && sorted[3999]! <= 3000);
    assert.equal(luckOf(parseFaults('latency_ms=100'), 1, 0).latencyMs, 100);
  });
});
