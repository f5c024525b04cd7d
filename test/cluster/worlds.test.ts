/** Code worlds in pods: their Python comes from the image of the pods, everything else from the submission. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { JsonObject } from '../../src/common/json.ts';
import { endOf, ofKind } from '../support/testWorkspace.ts';
import { type Rows, rowsOf } from '../worlds/support/databases.ts';
import { savedDatabase, writeGardenBatch } from '../worlds/support/gardenBatch.ts';
import { podsOf } from './support/batches.ts';
import { ClusterBench } from './support/clusterBench.ts';
import { type WorldsImage, worldsImage } from './support/worldsImage.ts';

const TASKS = 4;
/** A snapshot is taken after 16 calls that changed something. */
const HARVESTS = 24;

describe('a code world in pods', { timeout: 10 * 60_000 }, () => {
  let bench: ClusterBench;
  let image: WorldsImage | string;
  const folders: string[] = [];
  /** The batch that nothing disturbed, and its final databases by task. */
  let undisturbed: { readonly batch: string; readonly rows: Readonly<Record<string, Rows>> };

  before(async () => {
    bench = await ClusterBench.open('worlds');
    image = await worldsImage(bench.site);
    if (typeof image !== 'string') await bench.install();
  });
  after(async () => {
    await bench.close();
    if (typeof image === 'object') image.remove(); // else it was not made
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  function usable(test: TestContext): WorldsImage | undefined {
    if (typeof image !== 'string') return image;
    test.skip(image);
    return undefined;
  }

  /** Writes a batch. Its world file names the Python of this machine, which no pod has. */
  async function batchIn(pods: JsonObject, latencyMs = 0): Promise<string> {
    const questions = Object.fromEntries(
      Array.from({ length: TASKS }, (_, at) => [
        `t${at}`,
        [
          `call record_harvest {"planting_id": 1, "kilograms": ${at + 1}} times ${HARVESTS}`,
          'call assign_plot {"plot_id": 3, "gardener_id": 3}',
          'answer done',
        ].join('\n'),
      ]),
    );
    const batch = { concurrency: TASKS, pods: podsOf(bench.site, pods) };
    const folder = await writeGardenBatch({ questions, agent: `demo:?latency_ms=${latencyMs}`, batch });
    folders.push(folder);
    return folder;
  }

  const submit = (folder: string) =>
    bench.rolloutIn(
      folder,
      { XDG_CACHE_HOME: path.join(folder, 'cache') },
      'run',
      path.join('batches', 'garden.batch.yaml'),
      '--detach',
      '--json',
    );

  async function launch(folder: string): Promise<string> {
    const ran = await submit(folder);
    assert.equal(ran.code, 0, ran.stderr);
    return (JSON.parse(ran.stdout) as { batch: string }).batch;
  }

  /** Asserts that all attempts passed. Returns the rows of their saved final states. */
  async function finalRows(batch: string): Promise<Record<string, Rows>> {
    const found: Record<string, Rows> = {};
    for (const row of await bench.assertSettledOnce(batch, TASKS)) {
      const events = await bench.workspace.events(row.rollout);
      assert.deepEqual(
        [row.progress.status, row.progress.passed, row.try],
        ['done', true, 1],
        JSON.stringify(endOf(events)),
      );
      found[row.task] = rowsOf(await savedDatabase(await bench.connection(), events));
    }
    return found;
  }

  it('is refused before anything starts, unless the pods provide Python', async (test) => {
    if (usable(test) === undefined) return;
    const refused = await submit(await batchIn({}));
    assert.equal(refused.code, 2, refused.stdout);
    assert.match(
      refused.stderr,
      /garden\.world\.yaml:3:7: the world garden needs python, which the image of the pods .*`rollout world image`/,
    );
  });

  it('names the image if that has less than it should', async (test) => {
    if (usable(test) === undefined) return;
    const batch = await launch(await batchIn({ provides: ['python'], count: 1 }));
    const [row] = await bench.workspace.ended(batch);
    const { status, error } = endOf(await bench.workspace.events(row?.rollout ?? ''));
    assert.equal(status, 'infrastructure');
    assert.match(
      error?.message ?? '',
      /^Worlds of kind code need Python 3\.10 or later, which the image of the pods .*`rollout world image`/,
    );
  });

  it('passes', async (test) => {
    const has = usable(test);
    if (has === undefined) return;
    const batch = await launch(await batchIn({ image: has.name, provides: ['python'] }));
    undisturbed = { batch, rows: await finalRows(batch) };
    for (const rows of Object.values(undisturbed.rows)) assert.ok((rows['harvests']?.length ?? 0) >= HARVESTS);
  });

  it('continues in another pod with the same rows', async (test) => {
    const has = usable(test);
    if (has === undefined) return;
    const { workspace, cluster } = bench;
    const batch = await launch(await batchIn({ image: has.name, provides: ['python'] }, 250));
    const rows = await workspace.waitForRows(batch, (all) =>
      all.some(({ progress }) => progress.steps >= HARVESTS / 2),
    );
    const victim = rows.find(({ progress }) => progress.steps >= HARVESTS / 2)?.worker ?? '';
    assert.ok(await cluster.remove('Pod', victim, { graceSeconds: 0 }), victim);
    assert.deepEqual(await finalRows(batch), undisturbed.rows);
    const leases = await Promise.all(
      rows.map(async ({ rollout }) => ofKind(await workspace.events(rollout), 'rollout.lease').map(({ data }) => data)),
    );
    const moved = leases.filter(([first]) => first?.worker === victim);
    assert.ok(moved.length > 0);
    for (const [, next] of moved) assert.deepEqual([next?.how, next?.worker === victim], ['resumed', false]);
    test.diagnostic(`${moved.length} rollouts continued in another pod`);
  });

  it('leaves states on which this machine runs the verifiers again', async (test) => {
    if (usable(test) === undefined) return;
    const ran = await bench.rollout('world', 'verify', undisturbed.batch, '--json');
    assert.equal(ran.code, 0, ran.stderr);
    const { rollouts, flipped } = JSON.parse(ran.stdout) as {
      rollouts: { now: { passed: boolean } | null; error?: string }[];
      flipped: number;
    };
    assert.equal(flipped, 0);
    assert.deepEqual(
      rollouts.map(({ now }) => now?.passed),
      Array.from({ length: TASKS }, () => true),
      ran.stdout,
    );
  });
});
