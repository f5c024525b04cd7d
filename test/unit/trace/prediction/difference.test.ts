import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../../../src/common/json.ts';
import {
  type PredictionDifference,
  predictionDifference,
  SeenValues,
  statusOf,
} from '../../../../src/trace/prediction/difference.ts';

function compare(predicted: Json, real: Json, args: Json = {}, earlier: readonly Json[] = []): PredictionDifference {
  const seen = new SeenValues();
  for (const response of earlier) seen.addResponse(response);
  return predictionDifference({ response: predicted }, { response: real }, args, seen);
}

/** The places as `verdict class path`. */
function placesOf({ places }: PredictionDifference): string[] {
  return places.map((place) => `${place.verdict} ${place.class} ${place.path}`);
}

const LOAN = { loan: 'L-3001', title: 'Emma', due: '2026-04-06', renewed_at: '2026-03-16T09:00:00Z', renewals: 1 };

describe('the difference of a predicted and a real response', () => {
  it('finds none between equal ones, whether they are values or their text', () => {
    for (const predicted of [LOAN, JSON.stringify(LOAN), `\`\`\`json\n${JSON.stringify(LOAN, undefined, 2)}\n\`\`\``]) {
      const same = compare(predicted, LOAN, { loan: 'L-3001' });
      assert.deepEqual([same.accuracy, same.equal, same.places], [1, 1, []]);
      assert.deepEqual(same.parts, { status: 1, keys: 1, deterministic: 1, existing: 1, runtime: 1 });
    }
  });

  it('wants what was seen before exactly, and of other values only the form', () => {
    const predicted = { ...LOAN, title: 'Persuasion', due: '2026-05-01', renewed_at: '2026-03-17T10:11:12Z' };
    const free = compare(predicted, LOAN, { loan: 'L-3001' });
    assert.equal(free.accuracy, 1);
    assert.equal(free.equal, 2 / 5);
    assert.deepEqual(placesOf(free), [
      'plausible existing /title',
      'plausible existing /due',
      'plausible runtime /renewed_at',
    ]);
    const known = compare(predicted, LOAN, { loan: 'L-3001' }, [[{ title: 'Emma', due: '2026-04-06' }]]);
    assert.deepEqual(known.parts, { status: 1, keys: 1, deterministic: 1 / 3, existing: 1, runtime: 1 });
    assert.deepEqual(placesOf(known).slice(0, 2), ['differs deterministic /title', 'differs deterministic /due']);
    assert.equal(known.accuracy, (1 + 1 / 3) / 2);
  });

  it('finds values of another form, or another size', () => {
    const real = { id: 'M-1', started_at: '2026-03-16T09:00:00Z', pid: 4711, ms: 12 };
    const predicted = { id: 'member one', started_at: 'now', pid: '4711', ms: 90_000 };
    assert.deepEqual(placesOf(compare(predicted, real)), [
      'differs existing /id',
      'differs runtime /started_at',
      'differs runtime /pid',
      'differs runtime /ms',
    ]);
  });

  it('names missing and additional keys with what is in them', () => {
    const difference = compare({ a: 1, c: { d: 2 } }, { a: 1, b: [{ x: 5 }, { x: 6 }] });
    assert.deepEqual(placesOf(difference), ['missing keys /b', 'additional keys /c']);
    assert.equal(difference.parts.keys, 1 / 8); // a; b and its 2 items with 1 key each; c and d
    assert.equal(compare({ 'a/b~': 1 }, {}).places[0]?.path, '/a~1b~0');
  });

  it('pairs records by the key that identifies them, others by value or position', () => {
    const real = [
      { id: 1, name: 'Ada' },
      { id: 2, name: 'Ben' },
      { id: 3, name: 'Cleo' },
    ];
    const shifted = compare(
      [
        { id: 2, name: 'Ben' },
        { id: 3, name: 'Cleo' },
      ],
      real,
    );
    assert.deepEqual(placesOf(shifted), ['missing keys /0']);
    assert.deepEqual(placesOf(compare([3, 1, 2, 9], [1, 2, 3])), ['additional keys /3']);
    assert.deepEqual(placesOf(compare([[1], [2]], [[1], [3]])), ['plausible existing /1/0']);
  });

  it('compares the status first: a call that fails is not half right if it is predicted to succeed', () => {
    const missed = compare({ loan: 'L-3001' }, 'Error (tool_error): L-3001 is not out.', { loan: 'L-3001' });
    assert.equal(missed.accuracy, 0);
    assert.deepEqual(placesOf(missed).slice(0, 2), ['differs status ', 'differs format ']);
    const other = compare('Error (tool_error): no', 'Error (invalid_arguments): loan is missing');
    assert.equal(other.parts.status, 0.5);
    const statuses: [Json, string][] = [
      [{ error: { code: 404 } }, 'tool_error'],
      [{ error: null, items: [] }, 'ok'],
      ['{"success": false}', 'tool_error'],
      ['Traceback (most recent call last):\n…', 'tool_error'],
      ['Error (unknown_tool): Unknown tool "x".', 'unknown_tool'],
      ['There was no error in it', 'ok'],
      [[], 'ok'],
      [null, 'ok'],
    ];
    for (const [response, status] of statuses) assert.equal(statusOf({ response }), status, JSON.stringify(response));
  });

  it('reports another format and another shape', () => {
    const text = compare('L-3001 is renewed', { loan: 'L-3001' }, { loan: 'L-3001' });
    assert.deepEqual([text.parts.keys, text.places[0]?.class], [0, 'format']);
    assert.deepEqual(placesOf(compare({ items: {} }, { items: ['a'] })), ['differs format /items']);
  });

  it('compares texts by lines, and their words that had to be equal', () => {
    const real = 'Renewed L-3001 for Ada.\nDue 2026-04-06\ntook 12 ms at 09:00:01\nbye';
    const near = 'Renewed L-3001 for Bob.\nDue 2026-04-07\ntook 14 ms at 10:00:02\nbye';
    const good = compare(near, real, { loan: 'L-3001' });
    assert.deepEqual([good.accuracy, good.parts.deterministic, good.parts.runtime], [1, 1, 1]);
    assert.deepEqual(placesOf(good), [
      'plausible existing line 1',
      'plausible existing line 2',
      'plausible runtime line 3',
    ]);
    const bad = compare(`intro\n${near.replace('L-3001', 'L-3002')}`, real, { loan: 'L-3001' });
    assert.equal(bad.parts.deterministic, 0);
    assert.equal(bad.accuracy, 0);
    const words = compare({ text: 'Renewed L-9.' }, { text: 'Renewed L-3001.' }, { loan: 'L-3001' });
    assert.deepEqual(placesOf(words), ['differs deterministic /text']);
  });

  it('takes time that grows with the size only', () => {
    const rows = (shift: number): Json =>
      Array.from({ length: 20_000 }, (_, index) => ({
        id: index + shift,
        text: `row ${index % 7}`,
        at: 'x'.repeat(20),
      }));
    const lines = (word: string): string =>
      Array.from({ length: 40_000 }, (_, index) => `${word} ${index % 99} 12:00:00`).join('\n');
    const pairs: [Json, Json][] = [
      [rows(1), rows(0)],
      [lines('a'), lines('b')],
      ['12:00:01 '.repeat(120_000), '12:00:00 '.repeat(120_000)],
      ['a' + '-'.repeat(1_000_000), 'a' + '.'.repeat(1_000_000)],
      ['1'.repeat(1_000_000), 'f1'.repeat(500_000)],
      [Array.from({ length: 200_000 }, () => 1), Array.from({ length: 200_000 }, () => 2)],
      [`{"a": ${'['.repeat(400_000)}${']'.repeat(400_000)}}`, `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`],
    ];
    for (const [index, [predicted, real]] of pairs.entries()) {
      const began = process.threadCpuUsage(); // other work on the machine does not count
      compare(predicted, real, {}, [real]);
      const { user, system } = process.threadCpuUsage(began);
      const ms = (user + system) / 1000;
      assert.ok(ms < 3000, `pair ${index} took ${Math.round(ms)} ms of processor time`);
    }
  });
});
