import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstLine, nounFor, oneLine, plural, sentence } from '../../../src/common/text.ts';
import { bytes, compact, count, duration, percent } from '../../../src/common/units.ts';

test('a noun agrees with its number', () => {
  assert.deepEqual(
    [0, 1, 84].map((number) => plural(number, 'task')),
    ['0 tasks', '1 task', '84 tasks'],
  );
  assert.equal(plural(1, 'trajectory', 'trajectories'), '1 trajectory');
  assert.equal(plural(2, 'trajectory', 'trajectories'), '2 trajectories');
  assert.equal(`${count(1204)} ${nounFor(1204, 'step')}`, '1,204 steps');
});

test('a sentence ends with one mark', () => {
  assert.deepEqual(['Not found', 'Not found.', 'Why?', 'Loading…'].map(sentence), [
    'Not found.',
    'Not found.',
    'Why?',
    'Loading…',
  ]);
});

test('long text is truncated to one line without splitting a character', () => {
  assert.equal(oneLine(' a\n\n b ', 10), 'a b');
  assert.equal(oneLine('abcdef', 4), 'abc…');
  assert.equal(oneLine('abcdef'), 'abcdef');
  assert.ok(oneLine('ab🎲def', 4).isWellFormed());
  assert.equal(firstLine('\n  first  line\nsecond', 40), 'first line');
  assert.equal(firstLine('abcdef\nsecond', 4), 'abc…');
});

test('counts and shares are formatted', () => {
  assert.equal(count(12_345.4), '12,345');
  assert.deepEqual([0, 0.314, 1].map(percent), ['0%', '31%', '100%']);
  assert.deepEqual([950, 18_240, 99_960, 999_499, 999_500, 4_100_000, 2e9, 1.5e12].map(compact), [
    '950',
    '18.2k',
    '100k',
    '999k',
    '1.0M',
    '4.1M',
    '2.0G',
    '1.5T',
  ]);
});

test('durations are formatted', () => {
  assert.deepEqual([0, 1.24, 12, 999.4, 999.6, 42_100, 59_960, 65_000, 185_000, 3_725_000].map(duration), [
    '0 ms',
    '1.2 ms',
    '12 ms',
    '999 ms',
    '1.0 s',
    '42.1 s',
    '1 min 0 s',
    '1 min 5 s',
    '3 min 5 s',
    '1 h 2 min',
  ]);
});

test('sizes are formatted', () => {
  assert.deepEqual([418, 4_200, 65_536, 127e6, 1.3e9].map(bytes), ['418 B', '4.2 kB', '65.5 kB', '127 MB', '1.3 GB']);
});
