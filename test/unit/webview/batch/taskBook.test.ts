import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { tokenLimitOf } from '../../../../webview/batch/figures/tokenLimit.ts';
import { arrange } from '../../../../webview/batch/model/arrange.ts';
import { TaskBook } from '../../../../webview/batch/model/taskBook.ts';
import {
  type AttemptRows,
  doneOf,
  noCounts,
  sureAttempts,
  taskFacts,
} from '../../../../webview/batch/model/taskFacts.ts';
import { Random } from '../../../support/random.ts';
import { aRow, failed, passed } from './rows.ts';

suite('the facts of all tasks', () => {
  test('equal a full recount after any changes', () => {
    const random = new Random(9);
    const tasks: (AttemptRows | undefined)[] = [];
    const book = new TaskBook();
    for (let round = 0; round < 60; round++) {
      const touched = new Set<number>();
      const width = round < 3 ? 0 : 3; // the rows may arrive before the batch says how many there are
      for (let i = 0; i < 4; i++) {
        const index = Math.floor(random.next() * 20);
        const create = [passed, failed, () => aRow({ state: 'running' })][Math.floor(random.next() * 3)] ?? passed;
        const attempts = [...(tasks[index]?.attempts ?? [])];
        attempts[Math.floor(random.next() * 3)] = create({ rev: round * 10 + i });
        tasks[index] = { attempts };
        touched.add(index);
      }
      book.update(touched, tasks, width);
      const sum = noCounts();
      for (const [index, task] of tasks.entries()) {
        const facts = taskFacts(task, width);
        assert.deepEqual(book.of(index), facts);
        if (task !== undefined)
          for (const outcome of Object.keys(sum) as (keyof typeof sum)[]) sum[outcome] += facts.counts[outcome];
      }
      assert.deepEqual(book.counts, sum);
      assert.equal(doneOf(book.counts), sum.passed + sum.failed);
    }
  });

  test('have no ended attempts before the first row', () => {
    const book = new TaskBook();
    book.update([], [], 8);
    assert.equal(doneOf(book.counts), 0);
    assert.deepEqual(book.of(0).counts, { ...noCounts(), queued: 8 });
    assert.equal(
      doneOf({
        ...noCounts(),
        running: 1,
        held: 1,
        queued: 1,
        cancelled: 1,
        unscored: 1,
        infrastructure: 1,
        truncated: 1,
      }),
      4,
    );
  });
});

suite('many tasks in order', () => {
  test('are sorted like a stable sort, by any key', () => {
    const random = new Random(4);
    const facts = Array.from({ length: 3000 }, () => ({
      ...taskFacts(undefined, 1),
      tokens: Math.floor(random.next() * 50),
      ms: random.next(),
    }));
    for (const sort of ['tokens', 'duration'] as const) {
      const key = (index: number): number => (sort === 'tokens' ? facts[index]?.tokens : facts[index]?.ms) ?? 0;
      const rows = arrange({
        tasks: facts.length,
        facts: (index) => facts[index] ?? taskFacts(undefined, 1),
        level: () => undefined,
        scenario: () => undefined,
        spread: () => null,
        sort,
        group: 'none',
        folded: new Set(),
      });
      assert.deepEqual(
        rows.map((row) => (row.kind === 'task' ? row.index : -1)),
        [...facts.keys()].sort((a, b) => key(b) - key(a) || a - b),
      );
    }
  });
});

suite('the token limit', () => {
  const tokens = { input: 900, output: 100, cached: 0 };

  test('shows a projection once enough attempts ended', () => {
    assert.deepEqual(tokenLimitOf({ tokens, side: null, attempts: 100, open: 75 }, 3000, false), {
      most: 3000,
      used: 1000,
      expected: 4000,
    });
    assert.equal(tokenLimitOf({ tokens, side: null, attempts: 100, open: 90 }, 3000, false)?.expected, undefined);
    assert.equal(tokenLimitOf({ tokens, side: null, attempts: 100, open: 0 }, 3000, false)?.expected, undefined);
    assert.equal(tokenLimitOf({ tokens, side: null, attempts: 100, open: 75 }, 3000, true)?.expected, undefined);
  });

  test('is hidden without a limit or without usage', () => {
    assert.equal(tokenLimitOf({ tokens, side: null, attempts: 100, open: 75 }, undefined, false), undefined);
    assert.equal(tokenLimitOf({ tokens: null, side: null, attempts: 100, open: 75 }, 3000, false), undefined);
  });
});

test('an attempt without a row is queued, but in groups for trainers, which have rows for all attempts', () => {
  const few = { attempts: [] };
  const queued = (row: Parameters<typeof sureAttempts>[0]): number => taskFacts(few, sureAttempts(row)).counts.queued;
  assert.equal(queued({ attempts: 8 }), 8);
  assert.equal(queued({ attempts: 8, adaptive: { least: 4, until: 'solved' } }), 4);
  assert.equal(queued({ attempts: 8, groups: true }), 0);
});
