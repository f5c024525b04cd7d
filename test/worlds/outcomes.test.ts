/** The outcomes of a batch over a published world stay apart, wherever they are shown, and when it is scored again. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Verified } from '../../src/rerun/verify.ts';
import type { Report } from '../../src/trace/statistics/schema.ts';
import { Bench } from '../support/cli.ts';
import { Workspace } from '../support/testWorkspace.ts';
import { writeGardenBatch } from './support/gardenBatch.ts';
import { garden, replaced } from './support/gardenFolder.ts';

const ASSIGN = 'call assign_plot {"plot_id": 3, "gardener_id": 3}';
const FAULT = 'call get_gardener {"gardener_id": 99}';
const LOOK = 'call list_plots {"free": true}';

/** What the agent does, and what comes of it: the outcome, its reward, and why. */
const TASKS: Readonly<
  Record<string, readonly [calls: readonly string[], outcome: string, reward: number | null, cause: string | undefined]>
> = {
  done: [[FAULT, 'call get_plt {}', ASSIGN], 'complete', 1, undefined],
  partly: [['call assign_plot {"plot_id": 3, "gardener_id": 2}'], 'partial', 0.1, 'code verifier: partly complete'],
  idle: [[LOOK], 'agent_error', 0, 'code verifier: not complete'],
  corrected: [
    ['call get_plot {"plot_id": "x"}', 'call get_plot {"plot_id": 3}'],
    'agent_error',
    0,
    'code verifier: not complete',
  ],
  unknown: [[LOOK, 'call assign_plt {"plot_id": 3}'], 'format', -1, 'format: unknown tool assign_plt'],
  schema: [['call get_plot {"plot_id": "x"}'], 'format', -1, 'format: get_plot: invalid arguments'],
  unread: [['call get_plot {"plot_id": oops'], 'format', -1, 'format: get_plot: malformed output'],
  business: [['call get_plot {"plot_id": 99}'], 'agent_error', 0, 'code verifier: not complete'],
  fault: [[FAULT, LOOK, 'call assign_plt {}'], 'environment_error', null, 'environment: get_gardener: tool error'],
};

describe('the outcomes of a batch over a published world', { timeout: 300_000 }, () => {
  let folder: string;
  let bench: Bench;
  let workspace: Workspace;

  before(async () => {
    const published = garden();
    published.codeVerifiers[0] = replaced(
      published.codeVerifiers[0] ?? '',
      'else "others"',
      'else "partial" if after == 2 else "others"',
    );
    const questions = Object.fromEntries(
      Object.entries(TASKS).map(([task, [calls]]) => [task, [...calls, 'answer done'].join('\n')]),
    );
    folder = await writeGardenBatch({ questions, published });
    bench = new Bench({ env: { XDG_CACHE_HOME: path.join(folder, 'cache') } });
    workspace = new Workspace(bench);
  });

  after(async () => {
    await workspace.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const COUNTS = { complete: 1, partial: 1, agent_error: 3, format: 3, environment_error: 1 };

  test('are those of the rule, in the report and in every row, and a rescored batch has the same', async () => {
    const report = await bench.json<Report>(['run', path.join(folder, 'batches', 'garden.batch.yaml')]);
    assert.deepEqual(report.by_outcome, COUNTS);
    assert.deepEqual([report.passed, report.failed, report.unscored], [1, 7, 1]);
    const rows = await workspace.rows(report.batch);
    assert.deepEqual(
      rows.map(({ task, progress }) => [task, progress.world_outcome, progress.reward, progress.cause?.text]),
      Object.entries(TASKS).map(([task, [, ...expected]]) => [task, ...expected]),
    );
    const exported = await bench.json<{ csv: string }>(['export', report.batch]);
    assert.match(exported.csv, /,environment_error,/);
    assert.match(
      (await bench.run(['report', report.batch])).stdout,
      /^outcomes +complete 1, partial 1, agent error 3, format error 3, environment error 1$/m,
    );
    const again = await bench.json<Report>(['rescore', report.batch]);
    assert.deepEqual(again.by_outcome, COUNTS);
    const verdicts = await bench.json<Report>(['report', report.batch, '--scorer', 'world']);
    assert.deepEqual(verdicts.by_outcome, COUNTS);
    const { rollouts } = await bench.json<{ rollouts: readonly Verified[] }>(['world', 'verify', report.batch]);
    assert.deepEqual(
      rollouts.map(({ task, stored, now }) => [task, stored?.outcome, now?.outcome]),
      Object.entries(TASKS).map(([task, [, outcome]]) => [task, outcome, outcome]),
    );
  });
});
