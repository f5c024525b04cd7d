/** What becomes of a batch when parts of its cluster fail under it: every attempt ends exactly once, and the batch says what happened. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { labels, selector } from '../../src/kubernetes/names.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { cuttingProxy, type CuttingProxy } from '../support/cuttingProxy.ts';
import { podsOf, steady } from './support/batches.ts';
import { ClusterBench, until } from './support/clusterBench.ts';

/** An image that no registry has. */
const NOWHERE = 'localhost/rollout-studio-not-there:1';
/** How long the API server is away. */
const AWAY_MS = 5_000;
const HOG = `
import { tool } from 'rollout-studio';
import { z } from 'zod';
const held: Buffer[] = [];
export const hog = tool({
  description: 'Takes memory until there is none.', input: z.object({ megabytes: z.number() }), effect: 'pure',
  run: ({ megabytes }) => {
    for (let n = 0; n < megabytes; n++) held.push(Buffer.alloc(1024 * 1024, 1));
    return held.length;
  },
});
`;

describe('faults of a cluster', { timeout: 6 * 60_000 }, () => {
  let bench: ClusterBench;
  /** Between workers and the server, where pods reach this machine. */
  let network: CuttingProxy | undefined;
  before(async () => {
    bench = await ClusterBench.open('faults');
    const { port } = bench.site;
    if (port !== undefined) network = await cuttingProxy(port);
    await bench.install(...(network === undefined ? [] : ['--advertise', `http://127.0.0.1:${network.port}`]));
  });
  after(async () => {
    await bench.close();
    await network?.close();
  });

  const ended = (rows: readonly RolloutRow[]): number => rows.filter(({ state }) => state === 'ended').length;
  /** Starts a batch and waits until it is well under way. */
  const underWay = async (name: string, tasks: number): Promise<string> => {
    const batch = await bench.workspace.launch(name, steady(bench.site, { tasks, steps: 4, batch: { attempts: 2, concurrency: 8 } }));
    await bench.workspace.untilRows(batch, (rows) => ended(rows) >= 2 && rows.some(({ state }) => state === 'running'));
    return batch;
  };

  /** A subscription that lives through what happens: it sees every event of the batch once. */
  const follow = async (batch: string): Promise<void> => {
    const seen = await bench.workspace.untilEvents(batch, (events) => events.some(({ kind }) => kind === 'batch.end'));
    const stored = await bench.workspace.events(batch);
    assert.deepEqual(seen.map(({ seq }) => seq), stored.slice(0, seen.length).map(({ seq }) => seq));
  };

  // Each has a batch of its own, and mostly waits.
  describe('under some of its pods', { concurrency: 4 }, () => {
    it('a worker’s pod is deleted', async () => {
      const batch = await underWay('deleted', 16);
      const [victim] = await bench.workers(batch);
      assert.ok(victim !== undefined);
      assert.ok(await bench.cluster.remove('Pod', victim.metadata.name, { graceSeconds: 0 }));
      await bench.assertSettledOnce(batch, 32);
      const told = await bench.infra(batch);
      assert.ok(told.some((text) => text.includes(victim.metadata.name)), told.join('\n'));
    });

    it('a worker’s pod is evicted, as when its node is drained', async () => {
      const batch = await underWay('evicted', 16);
      const [victim] = await bench.workers(batch);
      assert.ok(victim !== undefined);
      const { name } = victim.metadata;
      const { status } = await bench.cluster.connection.request('POST', `/api/v1/namespaces/${bench.namespace}/pods/${name}/eviction`, { body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: bench.namespace } } });
      assert.equal(status, 201);
      await bench.assertSettledOnce(batch, 32);
      const told = await bench.infra(batch);
      assert.ok(told.some((text) => text.includes(name) && /evict|drain|disrupt/i.test(text)), told.join('\n'));
    });

    it('a pod has not enough memory', async () => {
      bench.workspace.write('hog.ts', HOG);
      const files = steady(bench.site, { tasks: 3, steps: 2, pods: { count: 4, limits: { memory: '384Mi' } }, batch: { retry: { infrastructure: 0 } } });
      const batch = await bench.workspace.launch('hungry', {
        ...files, tasks: [...files.tasks, { id: 'hog', question: 'call hog {"megabytes": 1000}\nanswer 42', answer: '42' }],
        agent: { ...files.agent, tools: [{ builtin: ['calculator'] }, { module: './hog.ts' }] },
      });
      const rows = await bench.assertSettledOnce(batch, 3);
      const lost = rows.filter(({ settles }) => !settles);
      assert.deepEqual(lost.map(({ task, progress }) => [task, progress.status]), [['hog', 'infrastructure']]);
      const told = await bench.infra(batch);
      assert.ok(told.some((text) => /OOM|memory/i.test(text)), told.join('\n'));
    });

    it('an image cannot be pulled', async () => {
      const batch = await bench.workspace.launch('imageless', { ...steady(bench.site, { tasks: 1, steps: 1 }), batch: { pods: podsOf(bench.site, { image: NOWHERE }) } });
      const events = await bench.workspace.untilEvents(batch, (all) => all.some((event) => event.kind === 'infra' && event.data.text.includes(NOWHERE)));
      assert.ok(events.some((event) => event.kind === 'infra' && /image/i.test(event.data.text)));
      assert.equal((await bench.workspace.run('cancel', batch)).code, 0);
      await bench.workspace.ended(batch);
      await until('its Jobs are gone', async () => (await bench.cluster.list('Job', { labels: `rollout-studio/batch=${batch}` })).every(({ status }) => (status?.active ?? 0) === 0));
    });
  });

  describe('under all of it', () => {
    it('the network between workers and the server is cut', async (test) => {
      if (network === undefined) {
        test.skip('pods do not reach this machine');
        return;
      }
      const batch = await underWay('cut', 16);
      const following = follow(batch);
      network.cutAll();
      await bench.workspace.untilRows(batch, (rows) => ended(rows) >= 8);
      network.cutAll();
      await following;
      const rows = await bench.assertSettledOnce(batch, 32);
      assert.equal(rows.length, 32, 'a cut costs no try');
    });

    it('the server’s pod is deleted', async (test) => {
      if (!bench.site.durable) {
        test.skip('this cluster has no storage that outlives a pod');
        return;
      }
      const batch = await underWay('server', 16);
      const following = follow(batch);
      const [server] = await bench.cluster.list('Pod', { labels: selector(labels('server')) });
      assert.ok(server !== undefined);
      assert.ok(await bench.cluster.remove('Pod', server.metadata.name));
      await following;
      await bench.assertSettledOnce(batch, 32);
      const now = await bench.cluster.list('Pod', { labels: selector(labels('server')) });
      assert.ok(now.every(({ metadata }) => metadata.uid !== server.metadata.uid), 'it was another pod that went on');
    });

    it('the API server hangs, and is started anew', async (test) => {
      const { process: ofCluster } = bench.site;
      if (ofCluster === undefined) {
        test.skip('only the kit’s API server can be broken');
        return;
      }
      const batch = await underWay('away', 32);
      const following = follow(batch);
      for (const [away, back] of [['pause', 'resume'], ['kill', 'start']] as const) {
        ofCluster('kube-apiserver', away);
        try {
          await new Promise((resolve) => setTimeout(resolve, AWAY_MS)); // that it takes this long is what is tested
        } finally {
          ofCluster('kube-apiserver', back);
        }
      }
      await following;
      await bench.assertSettledOnce(batch, 64);
    });
  });
});
