/**
 * The figures of a batch that was paused, held, forked, and lost a worker, in all views, against the store: rows and
 * outcomes are read from its database by SQL, and counted here.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { connect } from '../../src/client/connect.ts';
import { newId } from '../../src/common/ids.ts';
import { BatchContents } from '../../src/host/views/batches/batchContents.ts';
import { batchItem, taskItem } from '../../src/host/views/batches/batchNodes.ts';
import { batchAnswer } from '../../src/mcp/tools/showBatch.ts';
import type { Api } from '../../src/protocol/api.ts';
import type { BatchRow } from '../../src/protocol/client.ts';
import type { Report } from '../../src/trace/statistics/schema.ts';
import { until } from '../e2e/support/poll.ts';
import { Bench } from '../support/cli.ts';
import { DebugDialogue } from '../support/debugDialogue.ts';

type Counts = BatchRow['counts'];

const STATES = ['queued', 'running', 'held', 'ended'];
const progressOf = z.object({
  reward: z.number().nullable().optional(),
  passed: z.boolean().nullable().optional(),
  status: z.string().optional(),
  started_at: z.number().optional(),
  ended_at: z.number().optional(),
  steps: z.number(),
});

/** What the tables of the store say: counted without the product's code. */
function recount(store: string, batch: string): { counts: Counts; perHour: number; steps: number; tries: number } {
  using db = new DatabaseSync(path.join(store, 'store.db'), { readOnly: true });
  const rows = db
    .prepare(
      'SELECT r.state, r.newest, r.settles, r.progress FROM rollout r JOIN batch b ON b.id = r.batch WHERE b.name = ?',
    )
    .all(batch)
    .map((row) => ({ ...row, progress: progressOf.parse(JSON.parse(String(row['progress']))) }));
  const counts: Counts = {
    passed: 0,
    failed: 0,
    unscored: 0,
    cancelled: 0,
    infrastructure: 0,
    running: 0,
    held: 0,
    queued: 0,
  };
  const times: { from: number; to: number; settles: boolean }[] = [];
  for (const { state, newest, settles, progress } of rows as ((typeof rows)[number] & Record<string, unknown>)[]) {
    if (newest !== 1) continue;
    const name = STATES[Number(state)] ?? '';
    if (name !== 'ended') counts[name as 'running'] += 1;
    else if (settles === 1)
      counts[progress.reward == null ? 'unscored' : progress.passed === true ? 'passed' : 'failed'] += 1;
    else counts[progress.status === 'infrastructure' ? 'infrastructure' : 'cancelled'] += 1;
    if (name !== 'ended' || progress.started_at === undefined || progress.ended_at === undefined) continue;
    times.push({ from: progress.started_at, to: progress.ended_at, settles: settles === 1 });
  }
  const ran = Math.max(...times.map(({ to }) => to)) - Math.min(...times.map(({ from }) => from));
  return {
    counts,
    perHour: (times.filter((time) => time.settles).length * 3_600_000) / ran,
    steps: rows.reduce((sum, { progress }) => sum + progress.steps, 0),
    tries: rows.length,
  };
}

const MARKS: Readonly<Record<string, string>> = {
  '●': 'passed',
  '○': 'cancelled',
  '⚠': 'infrastructure',
  '▷': 'running',
  '‖': 'held',
  '·': 'queued',
};

/** Counts the last lines of `rollout tail` for each attempt, and ends it once it has printed this many tries. */
async function tailed(bench: Bench, batch: string, tries: number): Promise<Record<string, number>> {
  const child = bench.start(['tail', batch]);
  const closed = once(child, 'close');
  const last = new Map<string, { mark: string; number: number }>();
  const seen = new Set<string>();
  assert.ok(child.stdout);
  for await (const line of createInterface({ input: child.stdout })) {
    const [, mark, attempt, number = '1'] = /^(\S) {2}(\S+\/\d+)(?: {2}try (\d+))?  /.exec(line) ?? [];
    if (mark === undefined || attempt === undefined) continue;
    if (Number(number) >= (last.get(attempt)?.number ?? 0)) last.set(attempt, { mark, number: Number(number) });
    if (seen.add(`${attempt} ${number}`).size === tries) break;
  }
  child.kill();
  await closed;
  const counts: Record<string, number> = { scored: 0 };
  for (const name of Object.values(MARKS)) counts[name] = 0;
  for (const { mark } of last.values()) {
    const name = MARKS[mark] ?? 'scored';
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Returns the lines that say who holds an attempt. */
function heldLines(text: string): string[] {
  return text.split('\n').filter((line) => /^‖ \S+\/\d+: held .*until \d/.test(line));
}

describe('the figures of a batch', { timeout: 480_000 }, () => {
  let bench: Bench;
  let api: Api;
  before(async () => {
    bench = new Bench({ sharesProcess: true });
    await bench.run(['init', bench.path('desk')]);
  });
  after(() => bench.close());

  async function views(batch: string): Promise<void> {
    const [shown, reported, answer, row] = await Promise.all([
      bench.json<{ batch: BatchRow; rollouts: unknown[]; per_hour: number | null }>(['show', batch]),
      bench.json<Report>(['report', batch]),
      batchAnswer(api, batch, [], new AbortController().signal),
      api.batch(batch),
    ]);
    const { counts, perHour, steps, tries } = recount(bench.store, batch);
    const { passed, failed, unscored, cancelled, infrastructure, running, held, queued } = counts;
    const marks = { passed, scored: failed + unscored, cancelled, infrastructure, running, held, queued };
    assert.deepEqual(await tailed(bench, batch, tries), marks, 'rollout tail');
    assert.deepEqual(row.counts, counts, 'the server');
    assert.deepEqual(shown.batch.counts, counts, 'rollout show');
    assert.deepEqual(answer.data.batch.counts, counts, 'the MCP server');
    assert.deepEqual([row.steps, shown.batch.steps], [steps, steps]);
    for (const report of [reported, answer.data.report]) {
      const { open, running: runs = 0, held: holds = 0 } = report;
      assert.deepEqual(
        {
          passed: report.passed,
          failed: report.failed,
          unscored: report.unscored,
          cancelled: report.cancelled,
          infrastructure: report.infrastructure,
          running: runs,
          held: holds,
          queued: open - runs - holds,
        },
        counts,
      );
      assert.equal(report.pass_at?.['1'], report.pass_all?.['1']);
    }
    // The Batches view.
    const contents = new BatchContents(batch);
    while (contents.more) await contents.loadMore(api);
    const texts = contents.tasks.map((entry) => taskItem(entry, row).description ?? '');
    const sum = (word: string): number =>
      texts.reduce((total, text) => total + Number(new RegExp(`(\\d+)(?:/\\d+)? ${word}`).exec(text)?.[1] ?? 0), 0);
    assert.deepEqual([sum('passed'), sum('running'), sum('held')], [passed, running, held]);
    const heldText = /(\d+) held/.exec(batchItem(row, Date.now()).description ?? '')?.[1] ?? '0';
    assert.equal(Number(heldText), held);
    // Both commands say by whom and until when, in the same words.
    const lines = await Promise.all(
      ['show', 'report'].map(async (name) => heldLines((await bench.run([name, batch])).stdout)),
    );
    assert.equal(lines[0]?.length, held);
    assert.deepEqual(lines[1], lines[0]);
    if (row.state !== 'ended') return;
    for (const rate of [shown.per_hour, reported.per_hour, answer.data.report.per_hour])
      assert.ok(Math.abs((rate ?? 0) - perHour) < 1e-6, `${rate ?? 'none'} instead of ${perHour}`);
  }

  it('are equal in all views, while it is paused and held, and after it lost a worker and was forked', async () => {
    const { batch } = await bench.json<{ batch: string }>(
      ['run', 'batches/desk.batch.yaml', '--attempts', '2', '--limit', '3', '--hold', '--detach'],
      { cwd: bench.path('desk') },
    );
    const connection = await connect({ store: bench.store, start: false });
    ({ api } = connection);
    const settledAt = async (): Promise<boolean> => {
      const { running, held } = (await api.batch(batch)).counts;
      return running === 0 && held > 0;
    };
    await until(settledAt, 60_000, 'only the held attempt is left');
    await bench.run(['pause', batch]);
    await views(batch);

    // A worker is lost with the held attempt: the next one holds it again.
    const worker = (await api.rollouts(batch, { limit: 100 })).rollouts.find(({ state }) => state === 'held')?.worker;
    const lost = async (): Promise<boolean> => {
      const held = (await api.rollouts(batch, { limit: 100 })).rollouts.find(({ state }) => state === 'held');
      return held !== undefined && held.worker !== worker;
    };
    process.kill(Number(/\d+$/.exec(worker ?? '')?.[0]), 'SIGKILL');
    await bench.run(['resume', batch]);
    await until(lost, 60_000, 'another worker');
    await views(batch);

    const dap = new DebugDialogue(bench.path('desk'), {
      ...process.env,
      HOME: bench.folder,
      XDG_DATA_HOME: bench.folder,
    });
    await dap.start('attach', { batch, store: bench.store, stopOnEntry: true });
    await dap.restart();
    const fork = (await api.batches({ limit: 1 })).batches[0];
    assert.deepEqual([fork?.debug, fork?.counts.held], [true, 1]);
    await views(fork?.batch ?? '');
    await dap.close();
    const left = (await api.rollouts(batch, { limit: 100 })).rollouts.find(({ state }) => state === 'held');
    if (left !== undefined)
      await api.commandRollout(left.rollout, { command: newId('c'), verb: 'release', by: 'test' });
    await bench.run(['tail', batch]);
    assert.equal((await api.batch(batch)).state, 'ended');
    await views(batch);
    await views(fork?.batch ?? '');
  });
});
