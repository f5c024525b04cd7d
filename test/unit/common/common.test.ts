import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { abortable, sleep } from '../../../src/common/abort.ts';
import { errorText, exitCodeOf, StudioError } from '../../../src/common/errors.ts';
import { hashOf, seedOf, sha256Hex } from '../../../src/common/hash.ts';
import { newId } from '../../../src/common/ids.ts';
import { canonicalJson, jsonOf } from '../../../src/common/json.ts';

describe('canonical JSON', () => {
  it('does not depend on the order of keys, and omits undefined', () => {
    assert.equal(
      canonicalJson({ b: [1, { d: null, c: 'x' }], a: undefined, A: true }),
      '{"A":true,"b":[1,{"c":"x","d":null}]}',
    );
    assert.equal(hashOf({ a: 1, b: 2 }), hashOf({ b: 2, a: 1 }));
    assert.notEqual(hashOf([1, 2]), hashOf([2, 1]));
  });
  it('refuses values that JSON cannot represent', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    for (const value of [cycle, Number.NaN, Infinity, 1n, () => 1])
      assert.throws(() => canonicalJson(value), TypeError);
    const twice = { a: 1 };
    assert.equal(canonicalJson([twice, twice]), '[{"a":1},{"a":1}]');
  });
});

describe('parsing JSON', () => {
  it('returns its value, or undefined when it is invalid', () => {
    assert.deepEqual(
      [jsonOf('{"a":[1]}'), jsonOf('null'), jsonOf('{"a":'), jsonOf('')],
      [{ a: [1] }, null, undefined, undefined],
    );
  });
});

describe('hashes and seeds', () => {
  it('use sha256', () => {
    assert.equal(sha256Hex('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
  it('derive 32 bits that depend on every part', () => {
    const seeds = new Set([
      seedOf(7, 'task', 1),
      seedOf(7, 'task', 2),
      seedOf(8, 'task', 1),
      seedOf(7, 'tas', 1),
      seedOf('7', 'task', 1),
    ]);
    assert.equal(seeds.size, 5);
    for (const seed of seeds) assert.ok(Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32);
    assert.equal(seedOf(7, 'task', 1), Number.parseInt(sha256Hex('[7,"task",1]').slice(0, 8), 16));
  });
});

describe('IDs', () => {
  it('sort by time and name their kind', () => {
    const ids = [newId('b', 1_000), newId('b', 2_000), newId('b', 1_800_000_000_000)];
    assert.deepEqual([...ids].sort(), ids);
    for (const id of ids) assert.match(id, /^b[0-9a-z]{17}$/);
  });
});

describe('errors', () => {
  it('say what happened and what to do, and have an exit code', () => {
    const error = new StudioError('not_found', 'There is no batch x.', { hint: 'rollout batches lists them.' });
    assert.equal(errorText(error), 'There is no batch x. rollout batches lists them.');
    const quoting = new StudioError('config', 'It exited. Last output:\nno key', { hint: 'Set one.' });
    assert.equal(errorText(quoting), 'It exited. Last output:\nno key\nSet one.');
    assert.equal(exitCodeOf(error), 2);
    assert.equal(exitCodeOf(new StudioError('unavailable', '')), 3);
    assert.equal(exitCodeOf(new StudioError('cancelled', '')), 130);
    assert.equal(exitCodeOf(new Error('any')), 3);
  });
});

describe('cancellation', () => {
  it('ends a wait immediately', async () => {
    const stop = new AbortController();
    const waiting = sleep(60_000, stop.signal);
    const never = abortable(new Promise(() => undefined), stop.signal);
    stop.abort();
    await assert.rejects(waiting, (error: unknown) => StudioError.is(error, 'cancelled'));
    await assert.rejects(never, (error: unknown) => StudioError.is(error, 'cancelled'));
  });
});
