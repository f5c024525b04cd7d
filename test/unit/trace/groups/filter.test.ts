import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../../src/common/errors.ts';
import { compileFilter, GROUP_VARIABLES, groupValues } from '../../../../src/trace/groups/filter.ts';
import { EMPTY_PROGRESS, type Progress, type RolloutRow } from '../../../../src/trace/summary.ts';

function member(attempt: number, progress: Partial<Progress>): RolloutRow {
  return {
    rollout: `r${attempt}`,
    batch: 'b1',
    task: 't1',
    task_index: 0,
    attempt,
    try: 1,
    state: 'ended',
    epoch: 1,
    last: 9,
    settles: true,
    rev: attempt,
    progress: { ...EMPTY_PROGRESS, status: 'done', input_tokens: 90, output_tokens: 10, ...progress },
  };
}

const verdict = (passed: boolean | null) => ({ value: null, passed, at: 1 });

const MIXED = [
  member(1, { reward: 1, passed: true, fingerprint: 'a' }),
  member(2, { reward: 1, passed: true, fingerprint: 'a', status: 'truncated', verdicts: { judge: verdict(false) } }),
  member(3, { reward: 0, passed: false, fingerprint: 'b', status: 'truncated', verdicts: { judge: verdict(null) } }),
  member(4, { reward: 0.5, passed: false, verdicts: { judge: verdict(false), strict: verdict(true) } }),
];

describe('filters of groups', () => {
  it('see figures of the members that count', () => {
    assert.deepEqual(groupValues(MIXED, 1), {
      size: 4,
      mean: 0.625,
      spread: Math.sqrt((2 * 0.375 ** 2 + 0.625 ** 2 + 0.125 ** 2) / 3),
      passed: 0.5,
      truncated: 0.5,
      duplicates: 0.5,
      drift: 0.25,
      disagreement: 0.5,
      tokens: 400,
    });
    assert.deepEqual(Object.keys(groupValues(MIXED)).toSorted(), GROUP_VARIABLES.toSorted());
  });

  it('see no spread in equal rewards, whatever their sum is', () => {
    const equal = Array.from({ length: 7 }, (_, n) => member(n, { reward: 0.1, passed: false }));
    const { mean, spread, duplicates } = groupValues(equal);
    assert.deepEqual([mean, spread, duplicates], [0.1, 0, 0], 'no fingerprints: no duplicates');
    assert.deepEqual(compileFilter('spread > 0').test(groupValues(equal)), {
      ok: false,
      why: 'The filter spread > 0 is false: spread is 0.',
    });
  });

  it('say which values decided', () => {
    const values = groupValues(MIXED, 1);
    assert.deepEqual(compileFilter('spread > 0 && truncated <= 0.5').test(values), { ok: true });
    assert.deepEqual(compileFilter('truncated < 0.5 && tokens / size > 10').test(values), {
      ok: false,
      why: 'The filter truncated < 0.5 && tokens / size > 10 is false: size is 4, truncated is 0.5, tokens is 400.',
    });
    assert.deepEqual(compileFilter('spread > 1').test(values), {
      ok: false,
      why: 'The filter spread > 1 is false: spread is 0.4787.',
    });
    assert.deepEqual(
      [1, 2, 3].map((n) => compileFilter(`size == ${n + 1}`).test(values).ok),
      [false, false, true],
    );
  });

  it('read tokens only for drift', () => {
    assert.equal(compileFilter('drift == 0').needsDrift, true);
    assert.equal(compileFilter('spread > 0').needsDrift, false);
  });

  for (const [text, message] of [
    ['spred > 0', /^Column 1: there is no variable "spred"/],
    ['tool.name == "x"', /^Column 1: there is no variable "tool"/],
    ['spread = 0', /^Column 8: a single "="/],
    ['spread > "a"', /is not supported/],
    ['spread', /evaluates to double, not to true or false/],
    ['spread >', /incomplete/],
  ] as const)
    it(`refuse ${text} when they are compiled`, () => {
      assert.throws(
        () => compileFilter(text),
        (error) => StudioError.is(error, 'usage') && message.test(error.message) && /spread > 0/.test(error.hint ?? ''),
      );
    });
});
