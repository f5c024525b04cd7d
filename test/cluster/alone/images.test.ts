/** Pods run images by their digests where their nodes know these, and by name elsewhere. Needs the kit's nodes. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { batchLabels, selector } from '../../../src/kubernetes/names.ts';
import { steady } from '../support/batches.ts';
import { ClusterBench, until } from '../support/clusterBench.ts';

describe('the images of a batch', { timeout: 10 * 60_000 }, () => {
  let bench: ClusterBench;
  let byDigest: string;
  before(async () => {
    bench = await ClusterBench.open('images');
    const { kit, image, nodes } = bench.site;
    if (kit === undefined) return;
    // As if the nodes had pulled it from a registry.
    byDigest = `${image.replace(/:[^:/]*$/, '')}@${kit.digest(nodes[0] ?? '', image)}`;
    for (const node of nodes) kit.image(node, 'tag', image, byDigest);
    const { stderr } = await bench.install();
    assert.match(stderr, /^The server and its workers run localhost\/node:local@sha256:\w{64}\.$/m);
  });
  after(() => bench.close());

  /** Launches a batch; `named`: whether it names its image, or uses that of the server. */
  async function launch(name: string, named: boolean): Promise<string> {
    const { workspace, site } = bench;
    const batch = steady(site, { tasks: 1, steps: 1, pods: { count: 1 } });
    const { image, ...pods } = batch.batch?.['pods'] as { image: string };
    return await workspace.launch(name, {
      ...batch,
      batch: { ...batch.batch, pods: { ...pods, ...(named ? { image } : {}) } },
    });
  }

  const images = async (batch: string): Promise<(string | undefined)[]> =>
    (await bench.cluster.list('Job', { labels: selector(batchLabels(batch)) })).map(
      ({ spec }) => spec?.template.spec?.containers[0]?.image,
    );

  function needsKit(test: TestContext): boolean {
    if (bench.site.kit !== undefined) return true;
    test.skip('only the kit’s nodes can be changed');
    return false;
  }

  it('are that of the server, by the digest that its node reports', async (test) => {
    if (!needsKit(test)) return;
    const { image } = bench.site;
    const digest = byDigest.slice(byDigest.indexOf('@'));
    const batch = await launch('pinned', false);
    await bench.assertSettledOnce(batch, 1);
    assert.deepEqual(await images(batch), [`${image}${digest}`]);
    assert.ok((await bench.infra(batch)).includes(`Container worker runs ${image}${digest}.`));
  });

  it('are used by their names where a node has them only by name', async (test) => {
    const { kit, image, nodes } = bench.site;
    if (!needsKit(test) || kit === undefined) return;
    for (const node of nodes) kit.image(node, 'rm', byDigest);
    const batch = await launch('by-name', false);
    await bench.assertSettledOnce(batch, 1);
    const texts = (await bench.infra(batch)).join('\n');
    assert.match(texts, /^Image \S+@sha256:\w{64} cannot be pulled\. Pods use \S+:local instead/m);
    assert.match(
      texts,
      /^Container worker runs localhost\/node:local \(sha256:\w{64} on its node\)\. It has no digest/m,
    );
    await until('only the Job by name is left', async () => JSON.stringify(await images(batch)) === `["${image}"]`);
  });
});
