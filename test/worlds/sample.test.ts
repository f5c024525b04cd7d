/** The code world of the sample workspace: its batch runs, and the lint finds the fault that its README describes. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { worldHealth } from '../../src/common/worldHealth.ts';
import { Bench } from '../support/cli.ts';

describe('the code world of the sample workspace', { timeout: 180_000 }, () => {
  const bench = new Bench();
  const workspace = bench.path('workspace');

  before(async () => {
    assert.equal((await bench.run(['init', workspace])).code, 0);
  });
  after(() => bench.close());

  it('runs: the task that meets the fault fails, the others pass', async () => {
    const batch = path.join('batches', 'rooms.batch.yaml');
    const report = await bench.json<{ batch: string; attempts: number; passed: number }>(['run', batch], {
      cwd: workspace,
    });
    assert.deepEqual([report.attempts, report.passed], [3, 2]);
    const { stdout } = await bench.run(['show', `${report.batch}/study_rooms-2/1`], { cwd: workspace });
    assert.match(stdout, /KeyError/);
  });

  it('has one fault, which the lint finds', async () => {
    const { stdout } = await bench.run(['world', 'lint', path.join('worlds', 'rooms.world.yaml'), '--json'], {
      cwd: workspace,
    });
    const [health, ...others] = worldHealth.parse(JSON.parse(stdout)).scenarios;
    assert.deepEqual(others, []);
    assert.deepEqual(
      health?.findings.map(({ kind, message, place }) => [kind, message, place.file, place.line]),
      [
        [
          'foreign_key',
          "room_id = 'R-9' of bookings.json matches no record of rooms.json",
          'environment_mix/study_rooms/bookings.json',
          4,
        ],
      ],
    );
    assert.equal(health.stopped, undefined);
  });
});
