import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../src/common/json.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { attemptsOf } from '../../../src/trace/statistics/outcomes.ts';
import { callsText } from '../../../src/trace/toolCalls/callsText.ts';
import { currentLine, errorLines } from '../../../src/trace/toolCalls/errorLines.ts';
import { type CallFact, callFacts, distinctArguments, newestFirst } from '../../../src/trace/toolCalls/fact.ts';
import { toolStats, useShares } from '../../../src/trace/toolCalls/stats.ts';
import { callLine, shareText, statsText } from '../../../src/trace/toolCalls/text.ts';
import { Stream } from '../../support/stream.ts';
import { rolloutRow, scored } from '../host/rows.ts';

function fact(over: Partial<CallFact> = {}): CallFact {
  return {
    rollout: 'r1',
    seq: 5,
    step: 1,
    tool: 'renew',
    at: 1,
    ms: 10,
    open: false,
    source: 'live',
    injected: undefined,
    made: true,
    error: undefined,
    predictions: [],
    values: { arguments: { n: 1 }, result: 'fine' },
    ...over,
  };
}

const failed = (message: string, line: number, over: Partial<CallFact> = {}): CallFact =>
  fact({ error: { class: 'tool_error', message, place: { file: 'tools/a.ts', line, column: 3 } }, ...over });

test('facts of a trajectory: recorded arguments and results, open calls, errors', () => {
  const stream = new Stream();
  stream.start();
  stream.model('', [
    { id: 'a', name: 'renew', arguments: { n: 1 } },
    { id: 'b', name: 'renew', arguments: { n: 2 } },
  ]);
  const first = stream.toolStart('a', 'renew', { n: 1 });
  stream.toolEnd(first, 'a', 'fine');
  const second = stream.toolStart('b', 'renew', { n: 2 });
  const model = new TrajectoryModel();
  model.push(stream.events);
  const facts = callFacts(model, 'r9');
  assert.deepEqual(
    facts.map(({ rollout, seq, step, tool, open }) => ({ rollout, seq, step, tool, open })),
    [
      { rollout: 'r9', seq: first, step: 1, tool: 'renew', open: false },
      { rollout: 'r9', seq: second, step: 1, tool: 'renew', open: true },
    ],
  );
  assert.deepEqual(
    facts.map(({ values }) => values),
    [
      { arguments: { n: 1 }, result: 'fine' },
      { arguments: { n: 2 }, result: undefined },
    ],
  );
});

test('calls that a fork shares with its parent belong to the parent', () => {
  const stream = new Stream();
  stream.start();
  stream.model('', [{ id: 'a', name: 'renew', arguments: {} }]);
  stream.toolEnd(stream.toolStart('a', 'renew', {}), 'a', 'fine');
  const cut = stream.last;
  stream.start({ fork: { rollout: 'r0', seq: cut } });
  stream.model('', [{ id: 'b', name: 'renew', arguments: {} }]);
  const own = stream.toolStart('b', 'renew', {});
  const model = new TrajectoryModel();
  model.push(stream.events);
  assert.deepEqual(
    callFacts(model, 'r1').map(({ seq }) => seq),
    [own],
  );
});

test('statistics: errors by class, times by nearest rank of the calls that have them', () => {
  const facts = [
    ...Array.from({ length: 20 }, (_, index) => fact({ ms: index + 1 })),
    failed('x', 3),
    fact({ ms: undefined, open: true }),
    fact({ ms: undefined, error: { class: 'timeout', message: 't' } }),
    failed('y', 3),
  ];
  const stats = toolStats(facts);
  assert.deepEqual(stats, {
    calls: 24,
    open: 1,
    errors: 3,
    byClass: { tool_error: 2, timeout: 1 },
    p50: 10,
    p95: 19,
    predictions: null,
  });
  assert.deepEqual(Object.keys(stats.byClass), ['tool_error', 'timeout'], 'the most frequent first');
  assert.deepEqual(toolStats([]), {
    calls: 0,
    open: 0,
    errors: 0,
    byClass: {},
    p50: null,
    p95: null,
    predictions: null,
  });
});

test('shares count scored attempts by the rollout that settled them', () => {
  const rows = [
    scored('t1', 1, true, { progress: { tools: ['renew', 'find'] } }),
    scored('t1', 2, true),
    scored('t2', 1, false, { progress: { tools: ['renew'] } }),
    rolloutRow({ task: 't3', state: 'running', settles: false, progress: { tools: ['renew'] } }),
    rolloutRow({ task: 't4', settles: false, progress: { status: 'infrastructure', tools: ['renew'] } }),
  ];
  const shares = useShares(attemptsOf(rows), new Set(['renew']));
  assert.deepEqual(shares, { passed: { used: 1, of: 2 }, failed: { used: 1, of: 1 } });
  assert.deepEqual(useShares(attemptsOf(rows), new Set(['find', 'other'])).passed, { used: 1, of: 2 });
});

test('statistics have the accuracy of predictions', () => {
  const { predictions } = toolStats([
    fact({ predictions: [{ value: 1, parts: { status: 1, keys: 1 } }] }),
    fact({ predictions: [{ value: 0.5, parts: { status: 1, keys: 0.5 } }] }),
    fact({ predictions: [{ value: null, parts: {} }] }),
    fact(),
  ]);
  assert.deepEqual(predictions, { calls: 3, failed: 1, right: 1, accuracy: 0.75, parts: { status: 1, keys: 0.75 } });
  const line = statsText({ ...toolStats([fact()]), predictions }, undefined, { attempts: 1, read: 1 });
  assert.equal(line, '1 call · no errors · p50 10 ms, p95 10 ms · predicted 75%');
});

test('the line over a tool summarizes its calls', () => {
  const all = { attempts: 8, read: 8 };
  const stats = {
    calls: 412,
    open: 0,
    errors: 25,
    byClass: { tool_error: 25 },
    p50: 12,
    p95: 90,
    predictions: null,
  } as const;
  const shares = { passed: { used: 31, of: 100 }, failed: { used: 58, of: 100 } };
  assert.equal(
    statsText(stats, shares, all),
    '412 calls · 6% errors · p50 12 ms, p95 90 ms · in 31% of passed, 58% of failed attempts',
  );
  assert.equal(
    statsText(
      { ...stats, calls: 1, errors: 0, p50: null, p95: null },
      { passed: { used: 0, of: 0 }, failed: { used: 2, of: 2 } },
      all,
    ),
    '1 call · no errors · in 100% of failed attempts',
  );
  assert.equal(
    statsText({ ...stats, calls: 2000, open: 3, errors: 1 }, undefined, { attempts: 4096, read: 1000 }),
    '2,000 calls (3 running) · < 1% errors · p50 12 ms, p95 90 ms · 1,000 of 4,096 attempts loaded',
  );
  assert.deepEqual(
    [shareText(0, 5), shareText(1, 1000), shareText(999, 1000), shareText(5, 5), shareText(1, 3)],
    ['0%', '< 1%', '99%', '100%', '33%'],
  );
});

test('a call is on one line, whatever it contains', () => {
  assert.equal(callLine(fact(), 100), 'renew {n: 1} → fine');
  assert.equal(callLine(failed('no\nway', 3), 100), 'renew {n: 1} ✗ tool_error: no ⏎ way');
  assert.equal(
    callLine(fact({ open: true, values: { arguments: 'raw {', result: undefined } }), 100),
    'renew raw { … running',
  );
  assert.equal(callLine(fact({ values: undefined, ms: 1 }), 100), 'renew … → nothing');
  assert.equal(
    callLine(fact({ values: { arguments: { text: '\u001b[31mred\u0007' }, result: null } }), 100).includes('\u001b'),
    false,
  );
  assert.equal(callLine(fact(), 10), 'renew {n:…');
});

test('calls are sorted newest first, by time, then by place', () => {
  const facts = [
    fact({ at: 1, seq: 5 }),
    fact({ at: 3, seq: 9 }),
    fact({ at: 3, seq: 12 }),
    fact({ at: 3, rollout: 'r2', seq: 2 }),
  ];
  assert.deepEqual(
    facts.toSorted(newestFirst).map(({ rollout, seq }) => `${rollout}@${seq}`),
    ['r2@2', 'r1@12', 'r1@9', 'r1@5'],
  );
});

test('lines that threw have a count, the errors, and the newest call', () => {
  const facts = [
    failed('a', 7, { seq: 30 }),
    failed('b', 7, { seq: 20 }),
    failed('b', 7, { seq: 15 }),
    failed('c', 3, { seq: 10 }),
    fact(),
    failed('d', 1, { error: { class: 'tool_error', message: 'd', place: { file: 'other.ts', line: 1, column: 1 } } }),
  ];
  const lines = errorLines(facts, (file) => file === 'tools/a.ts');
  assert.deepEqual(
    lines.map(({ line, count, newest, messages }) => ({ line, count, newest: newest.seq, messages })),
    [
      { line: 3, count: 1, newest: 10, messages: [{ text: 'c', count: 1 }] },
      {
        line: 7,
        count: 3,
        newest: 30,
        messages: [
          { text: 'b', count: 2 },
          { text: 'a', count: 1 },
        ],
      },
    ],
  );
});

test('a line that threw is found where it moved to, but not where its text changed', () => {
  const before = ['a', 'b', '  throw x;', 'c', 'b'];
  assert.equal(currentLine(3, before, before), 3);
  assert.equal(currentLine(3, before, ['new', ...before]), 4);
  assert.equal(currentLine(3, before, before.slice(1)), 2);
  assert.equal(currentLine(2, before, ['b', 'x', 'y', 'z', 'b']), 1, 'the nearest');
  assert.equal(currentLine(3, before, ['a', 'b', 'throw y;']), undefined);
  assert.equal(currentLine(9, before, before), undefined);
});

test('calls as a document: a line with the outcome of each, its values below, long ones truncated', () => {
  const facts = [
    failed('no way', 7, { values: { arguments: { n: 1, list: [1, 2] }, result: undefined } }),
    fact({ rollout: 'r2', values: { arguments: {}, result: 'x'.repeat(9_000) } }),
    fact({ values: undefined }),
  ];
  const { text, blocks } = callsText(
    'renew in desk',
    facts,
    ({ rollout }) => (rollout === 'r1' ? { task: 't1', attempt: 2, outcome: 'failed' } : undefined),
    false,
  );
  const lines = text.split('\n');
  assert.equal(lines[0], 'renew in desk');
  assert.deepEqual(
    blocks.map(({ line, outcomeLength }) => (lines[line] ?? '').slice(0, outcomeLength)),
    ['failed', 'unknown', 'failed'],
  );
  assert.equal(lines[blocks[0]?.line ?? 0], 'failed  {n: 1, list: [1, 2]} ✗ tool_error: no way');
  assert.equal(lines[(blocks[0]?.line ?? 0) + 1], '  t1 · attempt 2 · step 1 · 10 ms · r1@5');
  assert.ok(lines.includes('      "n": 1,'));
  assert.match(text, /… 5,000 more characters\. Open the step to see all\./);
  for (const [index, { line, lastLine }] of blocks.entries())
    assert.ok(line > (blocks[index - 1]?.lastLine ?? 0) && lastLine >= line && lines[lastLine] !== '');
});

test('arguments to try again: distinct, as they were made, without invalid and incomplete ones', () => {
  const withArguments = (args: Json, over: Partial<CallFact> = {}): CallFact =>
    fact({ values: { arguments: args, result: undefined }, ...over });
  const calls = [
    withArguments({ a: 1, b: 2 }),
    withArguments({ b: 2, a: 1 }),
    withArguments({ n: 'many' }, { error: { class: 'invalid_arguments', message: 'n: must be a number' } }),
    withArguments({ text: { $blob: 'a'.repeat(64), bytes: 9, media: 'text/plain' } }),
    fact({ values: undefined }),
    withArguments({ a: 3 }),
    withArguments({ a: 4 }),
  ];
  assert.deepEqual(distinctArguments(calls, 2), [{ a: 1, b: 2 }, { a: 3 }]);
});
