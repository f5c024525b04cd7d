/** Ctrl-C, and readers that go away: the exit code says so, and nothing keeps running. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../src/client/connect.ts';
import { hasEnded } from '../support/cli.ts';
import { ADD, parseDocument, type Report, WorkspaceBench } from '../support/workspace.ts';

const MANY = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`t${n}`, ADD]));

describe('rollout run', { skip: process.platform === 'win32' ? 'Windows has no signals' : false }, () => {
  let bench: WorkspaceBench;
  before(() => {
    bench = new WorkspaceBench();
  });
  after(() => bench.close());

  /** Starts it and waits until rollouts run; `said` returns the output so far. */
  async function running(
    file: string,
    more: readonly string[] = [],
  ): Promise<{ child: ChildProcess; said: { out: string; err: string }; batch: string; closed: Promise<unknown[]> }> {
    const child = bench.start(['run', file, ...more], { cwd: bench.work });
    const said = { out: '', err: '' };
    const closed = once(child, 'close');
    child.stdout?.on('data', (chunk) => (said.out += String(chunk)));
    const batch = await new Promise<string>((resolve) =>
      child.stderr?.on('data', (chunk) => {
        said.err += String(chunk);
        const found = /^batch (\S+)$/m.exec(said.err)?.[1];
        if (found !== undefined) resolve(found);
      }),
    );
    const { api } = await connect({ store: bench.store });
    while ((await api.batch(batch)).counts.running === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    return { child, said, batch, closed };
  }

  async function nothingRuns(batch: string): Promise<void> {
    const { api } = await connect({ store: bench.store });
    const { running: rollouts, held, queued } = await api.server();
    assert.deepEqual([rollouts, held, queued], [0, 0, 0]);
    for (const worker of new Set((await bench.rows(batch)).flatMap((row) => row.worker ?? []))) {
      const pid = Number(/^local-(\d+)$/.exec(worker)?.[1] ?? Number.NaN);
      if (!Number.isNaN(pid)) assert.ok(await hasEnded(pid, 10_000), `${worker} is gone`);
    }
  }

  it('is cancelled by Ctrl-C: prints its report and exits with 130', async () => {
    const { child, said, batch, closed } = await running(
      bench.batch('slow', { model: '{ endpoint: "demo:?latency_ms=3000", name: demo }', tasks: MANY }),
      ['--json'],
    );
    const began = performance.now();
    child.kill('SIGINT');
    assert.deepEqual(await closed, [130, null], said.err);
    assert.ok(performance.now() - began < 5_000);
    const report = parseDocument<Report>(said.out, said.err);
    assert.deepEqual([report.batch, report.cancelled, report.open], [batch, 10, 0]);
    assert.match(
      said.err,
      new RegExp(
        `^Cancelling the batch… \\(press Ctrl-C again to exit without waiting\\)\n(.*\n)*Batch ${batch} was ` +
          `cancelled\\.\n$`,
        'm',
      ),
    );
    await nothingRuns(batch);
  });

  it('is cancelled immediately while it waits for a dead endpoint or a hanging tool', async () => {
    bench.write(
      'hangs.ts',
      "import { tool } from 'rollout-studio';\nimport { z } from 'zod';\nexport const hangs = tool({ " +
        "description: 'Hangs.', input: z.object({}), run: () => new Promise(() => undefined) });\n",
    );
    const dead = bench.batch('dead', { model: '{ endpoint: "http://127.0.0.1:9/v1", name: m }' });
    const hanging = bench.batch('hanging', { tools: '[{ module: hangs.ts }]', tasks: { one: 'call hangs' } });
    await Promise.all(
      [dead, hanging].map(async (file) => {
        const { child, said, batch, closed } = await running(file);
        const began = performance.now();
        child.kill('SIGINT');
        assert.deepEqual(await closed, [130, null], said.err);
        assert.ok(performance.now() - began < 5_000);
        assert.deepEqual(
          (await bench.rows(batch)).map((row) => row.progress.status),
          ['cancelled'],
        );
      }),
    );
    await nothingRuns((await (await connect({ store: bench.store })).api.batches()).batches[0]?.batch ?? '');
  });

  it('leaves the batch to the server at a second Ctrl-C', async () => {
    const { child, batch, closed } = await running(
      bench.batch('left', { model: '{ endpoint: "demo:?latency_ms=300", name: demo }', tasks: MANY }),
    );
    child.kill('SIGINT');
    child.kill('SIGINT');
    const [code] = await closed;
    assert.equal(code, 130);
    const { api } = await connect({ store: bench.store });
    while ((await api.batch(batch)).state !== 'ended') await new Promise((resolve) => setTimeout(resolve, 20));
    await nothingRuns(batch);
  });

  it('continues when nobody reads its output (run | head), and so does show', async () => {
    const { child, batch, closed } = await running(
      bench.batch('piped', { model: '{ endpoint: "demo:?latency_ms=300", name: demo }' }),
    );
    child.stdout?.destroy();
    child.stderr?.destroy();
    assert.deepEqual(await closed, [0, null]);
    assert.deepEqual(
      (await bench.rows(batch)).map((row) => row.progress.passed),
      [true],
    );
    const show = bench.start(['show', `${batch}/one/1`]);
    show.stdout?.destroy();
    let complaint = '';
    show.stderr?.on('data', (chunk) => (complaint += String(chunk)));
    assert.deepEqual([await once(show, 'close'), complaint], [[0, null], '']);
  });
});
