// `rollout compare`: attempts at a task as a tree and side by side, and two batches, on a real store.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { ComparedBatches } from '../../src/trace/align/batches.ts';
import type { Branch } from '../../src/trace/align/prefixTree.ts';
import { Bench } from '../support/cli.ts';
import { type TrialCall, trial } from '../support/tauTrial.ts';

interface Compared {
  readonly task: string;
  readonly attempts: readonly {
    readonly attempt: number;
    readonly rollout: string;
    readonly passed: boolean | null;
    readonly actions: readonly { readonly seq: number }[];
  }[];
  readonly tree: Branch;
  readonly reference: number;
  readonly first_split: number | null;
  readonly splits: readonly ({ readonly common: number; readonly rejoin: unknown } | null)[];
  readonly rows: readonly {
    readonly base: number;
    readonly cells: readonly { readonly state: string; readonly seq?: number; readonly differences?: unknown }[];
  }[];
}

const find: TrialCall = { name: 'find_member', arguments: { name: 'Ada' }, result: '{"id": 3}' };
const loans: TrialCall = { name: 'loans_of', arguments: { member: 3 }, result: '[17]' };
const renew = (days: number): TrialCall => ({
  name: 'renew_loan',
  arguments: { loan_id: 17, days },
  result: `{"days": ${days}}`,
});

describe('rollout compare', () => {
  const bench = new Bench({ sharesProcess: true });
  let first: string;
  let second: string;

  const imported = async (name: string, trials: readonly object[]): Promise<string> => {
    writeFileSync(bench.path(name), JSON.stringify(trials));
    return (await bench.json<{ batch: string }>(['import', bench.path(name)])).batch;
  };
  before(async () => {
    first = await imported('first.json', [
      trial('renew', 0, 0, [find, renew(7)]),
      trial('renew', 1, 1, [find, renew(14)]),
      trial('renew', 2, 1, [find, loans, renew(14)]),
      trial('lost', 0, 1, [find]),
      trial('gained', 0, 0, [find]),
    ]);
    second = await imported('second.json', [
      trial('renew', 0, 0, [find]),
      trial('renew', 1, 1, [find]),
      trial('renew', 2, 1, [find]),
      trial('lost', 0, 0, []),
      trial('gained', 0, 1, [find]),
    ]);
  });
  after(() => bench.close());

  it('prints the tree of all attempts at a task and aligns them with the shortest that passed', async () => {
    const compared = await bench.json<Compared>(['compare', `${first}/renew`]);
    assert.deepEqual(
      compared.attempts.map(({ attempt, passed }) => [attempt, passed]),
      [
        [1, false],
        [2, true],
        [3, true],
      ],
    );
    assert.equal(compared.reference, 1);
    assert.deepEqual(
      [compared.tree.actions.length, compared.tree.counts.passed, compared.tree.counts.attempts],
      [1, 2, 3],
    );
    assert.deepEqual(compared.tree.branches.map((branch) => branch.counts.rate).sort(), [0, 1, 1]);
    assert.deepEqual(
      compared.rows.map((row) => row.cells.map((cell) => cell.state).join(' ')),
      ['same same same', 'missing missing same', 'arguments same same', 'same same same'],
    );
    assert.equal(compared.first_split, 1);
    assert.deepEqual(compared.rows[2]?.cells[0]?.differences, [
      {
        call: 0,
        name: 'renew_loan',
        arguments: [{ path: '/days', before: 14, after: 7 }],
        result: [{ path: '', before: '{"days": 14}', after: '{"days": 7}' }],
      },
    ]);
  });

  it('compares attempts named one by one, with the first as the reference', async () => {
    const compared = await bench.json<Compared>([
      'compare',
      `${first}/renew/3`,
      `${first}/renew/2`,
      `${second}/renew/2`,
    ]);
    assert.equal(compared.reference, 0);
    assert.equal(compared.attempts.length, 3);
    assert.deepEqual(
      compared.splits.map((split) => split?.common),
      [undefined, 1, 1],
    );
  });

  it('prints a readable text in which model output cannot color the terminal', async () => {
    const { stdout, code } = await bench.run(['compare', `${first}/renew`], { env: { COLUMNS: '100' } });
    assert.equal(code, 0);
    assert.match(stdout, /renew · 3 attempts · 2 passed, 1 failed/);
    assert.match(stdout, /2\/3 {2}find_member name: "Ada"/);
    assert.match(stdout, /0\/1 {2}renew_loan loan_id: 17, days: 7 → answers Done/);
    assert.match(stdout, /renew_loan days: 14 → 7/);
    assert.match(stdout, /1: diverges after 1 identical action, rejoins at its step 3, which is step/);
    assert.doesNotMatch(stdout, /\u001b|\[object Object\]|undefined/);
    for (const line of stdout.split('\n'))
      assert.ok(
        line.length <= 100 || line.includes(': diverges after'),
        `a line of ${line.length} characters: ${line}`,
      );
  });

  it('reports which tasks changed between two batches, with the paired difference', async () => {
    const { tasks, comparison } = await bench.json<ComparedBatches>(['compare', first, second]);
    assert.deepEqual(
      tasks.map(({ task, change }) => [task, change]),
      [
        ['lost', 'lost'],
        ['gained', 'gained'],
        ['renew', 'same'],
      ],
    );
    assert.equal(comparison.pass_at?.['1']?.difference, 0);
    assert.equal(comparison.pass_at['1'].interval?.length, 2);
    const { stdout } = await bench.run(['compare', first, second]);
    assert.match(stdout, /lost +1\/1 +0\/1 +pass → fail/);
    assert.match(stdout, /gained +0\/1 +1\/1 +fail → pass/);
  });

  it('prints the URL of the page for a task, and saves it with every attempt', async () => {
    const word = `${first}/renew`;
    const { url, place } = await bench.json<{ url: string; place: object }>(['view', word, '--compare']);
    assert.deepEqual(place, { page: 'compare', batch: first, task: 'renew' });
    assert.equal(new URLSearchParams(new URL(url).hash.slice(1)).get('task'), 'renew');
    const { attempts } = await bench.json<Compared>(['compare', word]);
    const saved = await bench.json<{ file: string; trajectories: number }>([
      'view',
      word,
      '--compare',
      '--save',
      'renew.html',
    ]);
    assert.deepEqual([saved.trajectories, existsSync(saved.file)], [attempts.length, true]);
    const { code, stderr } = await bench.run(['view', first, '--compare']);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /not a task of a batch.*BATCH\/TASK/s);
    const [left] = attempts;
    assert.ok(left);
    const args = ['view', word, second, '--compare', '--left'];
    const opened = await bench.json<{ place: object }>([...args, left.rollout]);
    assert.deepEqual(opened.place, {
      page: 'compare',
      batch: first,
      task: 'renew',
      with: second,
      rollout: left.rollout,
    });
    for (const [other, message] of [
      [first, /is not an attempt/],
      [`${first}/lost/1`, /is not an attempt of .*rollout compare/s],
    ] as const) {
      const wrong = await bench.run([...args, other]);
      assert.equal(wrong.code, 2, wrong.stderr);
      assert.match(wrong.stderr, message);
    }
  });

  it('reports errors with a hint', async () => {
    for (const [words, message] of [
      [[], /usage: rollout compare/],
      [[first], /Nothing to compare.*BATCH\/TASK/s],
      [[`${first}/nothing`], /no attempts of task “nothing”.*List its tasks/s],
      [[first, `${first}/renew/1`], /batch cannot be compared with an attempt/],
      [[first, first, second], /Only two batches/],
      [[`${first}/renew/1`, `${first}/renew/9`], /no attempt 9/],
    ] as const) {
      const { code, stderr } = await bench.run(['compare', ...words]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    }
  });

  const recording = process.env['ROLLOUT_RECORDING'];
  it('compares the attempts of a recorded task that both passed and failed', {
    skip: recording === undefined ? 'ROLLOUT_RECORDING names no recording' : false,
  }, async () => {
    const { batch } = await bench.json<{ batch: string }>(['import', recording ?? '']);
    const { rollouts } = await bench.json<{ rollouts: { task: string; progress: { passed?: boolean | null } }[] }>([
      'show',
      batch,
    ]);
    const mixed = [...Map.groupBy(rollouts, (row) => row.task)].filter(
      ([, rows]) =>
        rows.some((row) => row.progress.passed === true) && rows.some((row) => row.progress.passed === false),
    );
    const [task, rows] = mixed[0] ?? assert.fail('the recording has no task that both passed and failed');
    const compared = await bench.json<Compared>(['compare', `${batch}/${task}`]);
    assert.equal(compared.attempts.length, rows.length);
    assert.equal(compared.tree.counts.passed, rows.filter((row) => row.progress.passed === true).length);
    assert.equal(compared.attempts[compared.reference]?.passed, true);
    assert.notEqual(compared.first_split, null);
    compared.attempts.forEach(({ actions }, column) => {
      assert.deepEqual(
        compared.rows.flatMap((row) => row.cells[column]?.seq ?? []),
        actions.map((action) => action.seq),
      );
    });
  });
});
