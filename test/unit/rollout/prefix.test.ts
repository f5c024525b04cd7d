import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Prefix, PrefixDivergence, type PrefixRequest } from '../../../src/rollout/act/prefix.ts';
import type { EffectKind, RecordedAction } from '../../../src/rollout/act/recorded.ts';

function action(
  seq: number,
  key: string,
  state: 'complete' | 'open' | 'lost' = 'complete',
  agent = 'desk',
  name = 'f',
): RecordedAction {
  const error = { class: 'infrastructure', message: 'lost' } as const;
  return {
    agent,
    kind: 'tool',
    name,
    key,
    seq,
    start: { call: key, name, arguments: {}, effect: 'pure' },
    ...(state === 'open'
      ? {}
      : {
          end: {
            seq: seq + 1,
            message: undefined,
            data: { status: state === 'lost' ? 'error' : 'ok', source: 'live', ...(state === 'lost' ? { error } : {}) },
          },
        }),
  };
}

function callOf(key: string, name = 'f', agent = 'desk', kind: EffectKind = 'tool'): PrefixRequest {
  return { agent, kind, name, key: () => key };
}

function takeAnswer(prefix: Prefix, request: PrefixRequest): [string, number | boolean] {
  const match = prefix.take(request);
  return match.how === 'new' ? ['new', match.diverged] : [match.how, match.action.seq];
}

describe('a prefix', () => {
  it('answers each recorded action once, in any order of its agent', () => {
    const prefix = new Prefix([action(1, 'a'), action(3, 'b'), action(5, 'a')], 'strict');
    assert.deepEqual(takeAnswer(prefix, callOf('b')), ['answered', 3]);
    assert.deepEqual(takeAnswer(prefix, callOf('a')), ['answered', 1]);
    assert.deepEqual(takeAnswer(prefix, callOf('a')), ['answered', 5]);
    assert.deepEqual(takeAnswer(prefix, callOf('a')), ['new', false]);
    assert.equal(prefix.spent('desk'), true);
  });

  it('prefers answered calls to lost ones', () => {
    const prefix = new Prefix([action(1, 'a', 'lost'), action(3, 'b', 'open'), action(4, 'a')], 'strict');
    assert.deepEqual(takeAnswer(prefix, callOf('a')), ['answered', 4]);
    assert.deepEqual(takeAnswer(prefix, callOf('b')), ['repeat', 3]);
    assert.deepEqual(takeAnswer(prefix, callOf('a')), ['repeat', 1]);
  });

  it('keeps agents apart', () => {
    const prefix = new Prefix(
      [action(1, 'a', 'complete', 'desk/one#1'), action(3, 'a', 'complete', 'desk/two#1')],
      'strict',
    );
    assert.deepEqual(takeAnswer(prefix, callOf('a', 'f', 'desk/two#1')), ['answered', 3]);
    assert.deepEqual(takeAnswer(prefix, callOf('a', 'f', 'desk')), ['new', false]);
  });

  it('strict: a call that differs from the record diverges, until all is answered', () => {
    const prefix = new Prefix([action(1, 'a'), action(3, 'b', 'open')], 'strict');
    assert.throws(() => prefix.take(callOf('x')), PrefixDivergence);
    assert.throws(
      () => prefix.take(callOf('a', 'g')),
      /desk requested tool "g", but tool "f" was recorded \(event 1\)/,
    );
    prefix.take(callOf('a'));
    assert.deepEqual(takeAnswer(prefix, callOf('x')), ['new', false], 'an open action is no answer to miss');
  });

  it('in order: the next answer of the same kind and name, until there is none left', () => {
    const prefix = new Prefix([action(1, 'a'), action(3, 'b', 'complete', 'desk', 'g'), action(5, 'c')], 'in_order');
    const first = prefix.take(callOf('x'));
    assert.deepEqual([first.how, first.how === 'answered' && first.exact], ['answered', false]);
    assert.deepEqual(takeAnswer(prefix, callOf('x', 'h')), ['new', true]);
    assert.deepEqual(takeAnswer(prefix, callOf('c')), ['new', false]);
    assert.equal(prefix.spent('desk'), true);
  });

  it('none: an unmatched call has no answer, and the others still have one', () => {
    const prefix = new Prefix([action(1, 'a'), action(3, 'b')], 'none');
    assert.deepEqual(takeAnswer(prefix, callOf('x')), ['new', false]);
    assert.deepEqual(takeAnswer(prefix, callOf('b')), ['answered', 3]);
  });

  it('may be strict for some answers only', () => {
    const prefix = new Prefix([action(1, 'a'), action(30, 'b')], (expected) =>
      expected.seq < 10 ? 'in_order' : 'strict',
    );
    assert.deepEqual(takeAnswer(prefix, callOf('x')), ['answered', 1]);
    assert.throws(() => prefix.take(callOf('x')), PrefixDivergence);
  });

  it('knows when its agent calls next', () => {
    const prefix = new Prefix([action(1, 'a'), action(3, 'b')], 'strict');
    prefix.take(callOf('a'));
    assert.equal(prefix.nextStart('desk', 2), 3);
    assert.equal(prefix.nextStart('desk', 4), Infinity);
    assert.equal(prefix.nextStart('nobody', 1), Infinity);
  });

  it('finds matches among a thousand actions without scanning all of them each time', () => {
    const actions = Array.from({ length: 5000 }, (_, index) => action(index * 2 + 1, `k${index}`));
    const prefix = new Prefix(actions, 'strict');
    let looks = 0;
    for (const { key } of actions)
      prefix.take({
        ...callOf(key),
        key: () => {
          looks++;
          return key;
        },
      });
    assert.equal(looks, 5000);
  });
});
