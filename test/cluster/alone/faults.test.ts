/**
 * What happens to a batch when parts of its cluster fail: every attempt ends exactly once, and the batch reports it in
 * one line. Ends with a table of all faults. `ROLLOUT_TEST_AWAY_SECONDS`: how long the API server is away.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { CoreV1Api, type V1Eviction } from '@kubernetes/client-node';
import { z } from 'zod';
import { modelOf } from '../../../src/kubernetes/access/objects.ts';
import { batchLabels, batchName, labels, NAMES, selector } from '../../../src/kubernetes/names.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { type CuttingProxy, cuttingProxy } from '../../support/cuttingProxy.ts';
import { shiftedClock } from '../../support/shiftedClock.ts';
import { ofKind } from '../../support/testWorkspace.ts';
import { watchedDemo } from '../../support/watchedDemo.ts';
import { podsOf, steady } from '../support/batches.ts';
import { ClusterBench, until } from '../support/clusterBench.ts';
import { FaultTable } from '../support/faultTable.ts';
import { cordon, giveUp, type Kit } from '../support/kit.ts';
import { ModelServer } from '../support/modelServer.ts';
import { podProcess } from '../support/podProcess.ts';
import { commandsOf, incident, PrintedCommands } from '../support/printedCommands.ts';

/** An image that no registry has. */
const NOWHERE = 'localhost/rollout-studio-not-there:1';
const AWAY_SECONDS = Number(process.env['ROLLOUT_TEST_AWAY_SECONDS'] ?? 14);
/**
 * How long an unresponsive node is not yet silent (`node-monitor-grace-period` of Kubernetes, which was 40 s until
 * 1.32).
 */
const GRACE_SECONDS = 50;
const CUT_MS = 2_000;
const LOADING_MS = 2_000;
const HOUR_MS = 3_600_000;
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
const OTHER_CLUSTER = 'only parts of the kit’s cluster may be broken';
const podTemplate = z.looseObject({
  spec: z.looseObject({ containers: z.array(z.looseObject({ env: z.array(z.unknown()) })) }),
});
const conditions = z.looseObject({
  status: z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })) }),
});

describe('faults of a cluster', { timeout: 10 * 60_000 }, () => {
  let bench: ClusterBench;
  /** Between workers and the server, where pods reach this machine. */
  let network: CuttingProxy | undefined;
  const faults = new FaultTable(() => bench);
  before(async () => {
    bench = await ClusterBench.open('faults');
    const { port } = bench.site;
    if (port !== undefined) network = await cuttingProxy(port);
    await bench.install(...(network === undefined ? [] : ['--advertise', `http://127.0.0.1:${network.port}`]));
  });
  after(async () => {
    faults.print();
    await bench.close();
    await network?.close();
  });

  const ended = (rows: readonly RolloutRow[]): number => rows.filter(({ state }) => state === 'ended').length;
  /** Starts a batch and waits until many of its attempts run. */
  const underWay = async (
    name: string,
    tasks: number,
    more: Omit<Parameters<typeof steady>[1], 'tasks' | 'steps'> & { steps?: number } = {},
  ): Promise<string> => {
    const { batch = {}, steps = 4, ...rest } = more;
    const id = await bench.workspace.launch(
      name,
      steady(bench.site, { tasks, steps, ...rest, batch: { attempts: 2, concurrency: 8, ...batch } }),
    );
    await bench.workspace.waitForRows(id, (rows) => ended(rows) >= 2 && rows.some(({ state }) => state === 'running'));
    return id;
  };
  /** Waits until two pods run rollouts: one without any has nothing to hand over. */
  const bothAtWork = (batch: string) =>
    bench.workspace.waitForRows(
      batch,
      (rows) => new Set(rows.filter(({ state }) => state === 'running').map(({ worker }) => worker)).size >= 2,
    );
  const reportOf = (batch: string, what: string) =>
    bench.workspace.waitForEvents(batch, (events) =>
      events.some((event) => event.kind === 'infra' && event.data.what === what),
    );
  const serverPod = async () => {
    const [pod] = await bench.cluster.list('Pod', { labels: selector(labels('server')) });
    assert.ok(pod !== undefined);
    return pod;
  };
  const evict = async (name: string): Promise<void> => {
    const { namespace } = bench;
    const eviction = modelOf<V1Eviction>({
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace },
    });
    await new CoreV1Api(bench.cluster.connection.configuration()).createNamespacedPodEviction({
      name,
      namespace,
      body: eviction,
    });
  };
  /** A subscription that survives the fault: it sees every event of the batch once. */
  const follow = async (batch: string): Promise<void> => {
    const seen = await bench.workspace.waitForEvents(batch, (events) =>
      events.some(({ kind }) => kind === 'batch.end'),
    );
    const stored = await bench.workspace.events(batch);
    assert.deepEqual(
      seen.map(({ seq }) => seq),
      stored.slice(0, seen.length).map(({ seq }) => seq),
    );
  };

  let commands: PrintedCommands | undefined;
  const printed = (): PrintedCommands => (commands ??= new PrintedCommands(bench));
  /** Skips a fault that only the kit’s cluster allows. */
  const kitFor = (test: TestContext): Kit | undefined => {
    const { kit } = bench.site;
    if (kit === undefined) faults.skip(test, OTHER_CLUSTER);
    return kit;
  };

  // Each has its own batch, and mostly waits.
  describe('of its pods', { concurrency: 4 }, () => {
    it('a worker’s pod is deleted', (test) =>
      faults.of(test, async () => {
        const batch = await underWay('deleted', 16);
        const [victim] = await bench.workers(batch);
        assert.ok(victim !== undefined);
        const { name } = victim.metadata;
        assert.ok(await bench.cluster.remove('Pod', name, { graceSeconds: 0 }));
        // It has a second to hand its rollouts over, which a fast machine can do.
        return { batch, attempts: 32, report: { what: /^pod_(deleted|handover)$/, like: new RegExp(name) } };
      }));

    it('a node is drained', (test) =>
      faults.of(test, async () => {
        const batch = await underWay('drained', 24);
        await bothAtWork(batch);
        const server = (await serverPod()).spec?.nodeName;
        const pods = await bench.workers(batch);
        // Preferably one without the server, which other batches need now.
        const [victim] = pods.sort((a, b) => Number(a.spec?.nodeName === server) - Number(b.spec?.nodeName === server));
        const node = victim?.spec?.nodeName;
        assert.ok(victim !== undefined && node !== undefined);
        const there = pods.filter(({ spec }) => spec?.nodeName === node);
        // Nodes of a shared cluster stay schedulable: there only the pods are removed.
        const alone = bench.site.kit === undefined || bench.site.nodes.length < 2;
        if (!alone) await cordon(bench.cluster, node, true);
        try {
          for (const { metadata } of there) await evict(metadata.name);
          if (!alone)
            await until('another pod is on another node', async () =>
              (await bench.cluster.list('Pod', { labels: selector(batchLabels(batch)) })).some(
                ({ metadata, spec }) =>
                  (spec?.nodeName ?? node) !== node && !pods.some((pod) => pod.metadata.uid === metadata.uid),
              ),
            );
        } finally {
          if (!alone) await cordon(bench.cluster, node, false);
        }
        return {
          batch,
          attempts: 48,
          report: {
            what: 'pod_handover',
            like: new RegExp(
              `${victim.metadata.name} was evicted, as when a node is drained.*handed its rollouts over`,
            ),
          },
        };
      }));

    it('the processes of a worker and of the tools of another one are killed', async (test) => {
      if (kitFor(test) === undefined) return;
      await faults.of(test, async () => {
        const batch = await underWay('killed', 16);
        await bothAtWork(batch);
        const [first, second] = await bench.workers(batch);
        assert.ok(first !== undefined && second !== undefined);
        process.kill(podProcess(first, 'worker'), 'SIGKILL');
        process.kill(podProcess(second, 'toolServer'), 'SIGKILL');
        return {
          batch,
          attempts: 32,
          report: {
            what: 'pod_failed',
            like: new RegExp(`^The worker of pod ${first.metadata.name} was killed on node \\S+ \\(SIGKILL\\)`),
          },
          also: [
            { what: 'pod_failed', like: new RegExp(`^Pod ${second.metadata.name} ended .*: The tool server is gone`) },
          ],
        };
      });
    });

    // Where the kubelet ends all processes of a container together, the pod is killed. Otherwise only the process of
    // the module is, and its call fails.
    it('a pod has not enough memory', async () => {
      bench.workspace.write('hog.ts', HOG);
      const files = steady(bench.site, {
        tasks: 3,
        steps: 2,
        pods: { count: 4, limits: { memory: '384Mi' } },
        batch: { retry: { infrastructure: 0 } },
      });
      const batch = await bench.workspace.launch('hungry', {
        ...files,
        tasks: [...files.tasks, { id: 'hog', question: 'call hog {"megabytes": 1000}\nanswer 42', answer: '42' }],
        agent: { ...files.agent, tools: [{ builtin: ['calculator'] }, { module: './hog.ts' }] },
      });
      const rows = await bench.workspace.ended(batch);
      assert.deepEqual(
        rows.filter(({ settles, task }) => !settles && task !== 'hog'),
        [],
        'the others finish',
      );
      const hog = rows.find(({ task }) => task === 'hog');
      const [call] = ofKind(await bench.workspace.events(hog?.rollout ?? ''), 'tool.end');
      const reported = ofKind(await bench.workspace.events(batch), 'infra').some(({ data }) => data.what === 'pod_oom');
      assert.ok(reported || call?.data.error !== undefined, 'what happened is reported');
    });

    it('an image cannot be pulled', (test) =>
      faults.of(test, async () => {
        const { site, cluster, workspace } = bench;
        const batch = await workspace.launch('imageless', {
          ...steady(site, { tasks: 1, steps: 1 }),
          batch: { pods: podsOf(site, { image: NOWHERE }) },
        });
        await reportOf(batch, 'pod_image');
        const report = { what: 'pod_image', like: new RegExp(`Cannot pull image ${NOWHERE} for pod `) };
        if (site.kit !== undefined) {
          // as if it had been pushed now
          for (const node of site.nodes) site.kit.image(node, 'tag', site.image, NOWHERE);
          await workspace.ended(batch);
          for (const node of site.nodes) site.kit.image(node, 'rm', NOWHERE);
          return { batch, attempts: 1, report };
        }
        assert.equal((await workspace.run('cancel', batch)).code, 0);
        await workspace.ended(batch);
        await until('its Jobs are gone', async () =>
          (await cluster.list('Job', { labels: selector(batchLabels(batch)) })).every(
            ({ status }) => (status?.active ?? 0) === 0,
          ),
        );
        return { batch, attempts: 0, lost: 1, report };
      }));
  });

  describe('of what its pods need', { concurrency: 3 }, () => {
    /** A batch whose pods are all on a node without the server. */
    let lonely: { readonly batch: string; readonly node: string; readonly kit: Kit } | undefined;
    before(async () => {
      const { kit, nodes } = bench.site;
      const server = (await serverPod()).spec?.nodeName ?? '';
      const node = nodes.find((name) => name !== server);
      if (kit === undefined || node === undefined) return;
      const others = nodes.filter((name) => name !== node);
      for (const other of others) await cordon(bench.cluster, other, true);
      try {
        lonely = { batch: await underWay('lonely', 8, { steps: 16, pods: { count: 1 } }), node, kit };
      } finally {
        for (const other of others) await cordon(bench.cluster, other, false);
      }
      // No other pods are scheduled there anymore.
      await cordon(bench.cluster, node, true);
    });

    it('a node is lost', async (test) => {
      if (lonely === undefined) {
        faults.skip(test, bench.site.kit === undefined ? OTHER_CLUSTER : 'the cluster has one node only');
        return;
      }
      const { batch, node, kit } = lonely;
      try {
        await faults.of(test, async () => {
          kit.loseNode(node);
          await reportOf(batch, 'node_lost');
          const [remove, taint] = commandsOf(await incident(bench, batch, /does not respond/));
          assert.match(remove ?? '', new RegExp(`^kubectl .*delete node ${node}$`));
          await printed().runAll(taint === undefined ? [] : [taint]); // the other remedy, which it printed
          return { batch, attempts: 16, report: { what: 'node_lost', like: /^Node \S+ does not respond\./ } };
        });
      } finally {
        kit.findNode(node);
        await giveUp(bench.cluster, node, false);
        await cordon(bench.cluster, node, false);
        await until('the node is back', async () =>
          conditions
            .parse(await bench.cluster.get('Node', node))
            .status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
        );
      }
    });

    it('the process of a worker hangs for ever, and that of another one for longer than its lease', async (test) => {
      if (kitFor(test) === undefined) return;
      const model = await watchedDemo();
      try {
        await faults.of(test, async () => {
          const gate = 'frozen';
          model.shut(gate);
          const files = steady(bench.site, { tasks: 6, steps: 2, pods: { count: 3 }, batch: { concurrency: 6 } });
          const batch = await bench.workspace.launch('frozen', { ...files, endpoint: model.url, gate });
          await bench.workspace.waitForRows(batch, (rows) => rows.every(({ state }) => state === 'running'));
          const [forever, once] = await bench.workers(batch);
          assert.ok(forever !== undefined && once !== undefined);
          const other = podProcess(once, 'worker');
          process.kill(podProcess(forever, 'worker'), 'SIGSTOP');
          process.kill(other, 'SIGSTOP');
          try {
            await bench.workspace.waitForEvents(batch, (events) =>
              ofKind(events, 'infra').some(
                ({ data }) => data.what === 'worker_lost' && data.worker === once.metadata.name,
              ),
            );
          } finally {
            process.kill(other, 'SIGCONT');
          }
          await reportOf(batch, 'pod_frozen');
          await reportOf(batch, 'workers_back');
          model.open(gate);
          const rows = await bench.workspace.ended(batch);
          assert.ok(
            rows.every((row) => row.try === 1),
            'every attempt continued from its record',
          );
          return {
            batch,
            attempts: 6,
            report: {
              what: 'pod_frozen',
              like: new RegExp(`^Pod ${forever.metadata.name} did not respond .* so the server deleted it`),
            },
          };
        });
      } finally {
        await model.close();
      }
    });

    // Nothing takes as long as a lost node.
    describe('in parallel', { concurrency: 1 }, () => {
      it('the clocks of workers are off by an hour', (test) =>
        faults.of(test, async () => {
          const { site, cluster, workspace, namespace } = bench;
          // Its own pods wait for a queue that nothing admits; two others replace them that differ only in their
          // clocks.
          const batch = await workspace.launch(
            'skewed',
            steady(site, { tasks: 8, steps: 3, pods: { queue: 'nobodys' }, batch: { attempts: 2, concurrency: 8 } }),
          );
          await reportOf(batch, 'suspended');
          const [job] = await cluster.list('Job', { labels: selector(batchLabels(batch)) });
          const { spec } = podTemplate.parse(job?.spec?.['template']);
          for (const [name, ms] of [
            ['ahead', HOUR_MS],
            ['behind', -HOUR_MS],
          ] as const) {
            const containers = spec.containers.map((container) => ({
              ...container,
              env: [...container.env, { name: 'NODE_OPTIONS', value: shiftedClock(ms) }],
            }));
            await cluster.create({
              apiVersion: 'v1',
              kind: 'Pod',
              metadata: {
                name: `clock-${name}`,
                namespace,
                labels: batchLabels(batch),
                annotations: job?.metadata.annotations ?? {},
              },
              spec: { ...spec, containers },
            });
          }
          const rows = await workspace.ended(batch);
          assert.deepEqual(new Set(rows.map(({ worker }) => worker)), new Set(['clock-ahead', 'clock-behind']));
          const stream = await workspace.events(batch);
          const [first, last] = [stream[0]?.at ?? 0, ofKind(stream, 'batch.end')[0]?.at ?? 0];
          for (const { rollout } of rows) {
            const times = [first, ...(await workspace.events(rollout)).map(({ at }) => at), last];
            assert.deepEqual(
              times,
              [...times].sort((a, b) => a - b),
              'the server’s time from end to end',
            );
          }
          return {
            batch,
            attempts: 16,
            report: { what: 'clock_skew', like: /clock-ahead is (1 h|59 min).* ahead of/ },
            also: [{ what: 'clock_skew', like: /clock-behind is (1 h|59 min).* behind/ }],
          };
        }));

      it('the model server is restarted', async (test) => {
        if (bench.site.port === undefined) {
          faults.skip(test, 'pods do not reach a model server on this machine');
          return;
        }
        const model = await ModelServer.start();
        try {
          await faults.of(test, async () => {
            const files = steady(bench.site, { tasks: 16, steps: 6, batch: { attempts: 2, concurrency: 8 } });
            const batch = await bench.workspace.launch('modelless', {
              ...files,
              endpoint: model.url,
              demo: 'latency_ms=250',
            });
            await bench.workspace.waitForRows(batch, (rows) => ended(rows) >= 2);
            const limit = async () =>
              (await (await bench.workspace.api()).server()).endpoints.find(({ endpoint }) => endpoint === model.url);
            const before = await limit();
            await model.kill();
            await reportOf(batch, 'endpoint');
            const down = await limit();
            assert.ok(
              before !== undefined &&
                down !== undefined &&
                before.permits > 1 &&
                down.state === 'down' &&
                down.permits <= 1,
              JSON.stringify([before, down]),
            );
            await model.start(LOADING_MS);
            await bench.workspace.waitForRows(batch, (rows) => ended(rows) >= 16);
            const back = await limit();
            assert.ok(back?.state === 'ok' && back.permits > 1, JSON.stringify(back));
            return {
              batch,
              attempts: 32,
              report: { what: 'endpoint', like: /is not available: / },
              also: [{ what: 'endpoint', like: /is available again/ }],
            };
          });
        } finally {
          await model.kill();
        }
      });

      it('the network between workers and the server is cut', async (test) => {
        if (network === undefined) {
          faults.skip(test, 'pods do not reach this machine');
          return;
        }
        const cut = network;
        await faults.of(test, async () => {
          const batch = await underWay('cut', 16);
          const workers = (rows: readonly RolloutRow[]): Set<string | undefined> =>
            new Set(rows.filter(({ state }) => state === 'running').map(({ worker }) => worker));
          await bench.workspace.waitForRows(batch, (rows) => workers(rows).size === 2);
          const following = follow(batch);
          cut.setAway(true);
          await new Promise((resolve) => setTimeout(resolve, CUT_MS)); // this duration is part of the test
          cut.setAway(false);
          await following;
          return {
            batch,
            attempts: 32,
            report: {
              what: 'workers_back',
              like: new RegExp(
                String.raw`^2 workers lost the connection to the server and reconnected after \d.* and continued \d ` +
                  String.raw`rollouts\.$`,
              ),
            },
          };
        });
      });
    });
  });

  describe('of everything', () => {
    it('the server’s pod is deleted', async (test) => {
      if (!bench.site.durable) {
        faults.skip(test, 'this cluster has no storage that outlives a pod');
        return;
      }
      await faults.of(test, async () => {
        const batch = await underWay('server', 16);
        const following = follow(batch);
        const server = await serverPod();
        assert.ok(await bench.cluster.remove('Pod', server.metadata.name));
        await following;
        const now = await bench.cluster.list('Pod', { labels: selector(labels('server')) });
        assert.ok(
          now.every(({ metadata }) => metadata.uid !== server.metadata.uid),
          'it was another pod that went on',
        );
        return {
          batch,
          attempts: 32,
          report: { what: 'server_back', like: /^The server was restarted, .* 2 workers reconnected after \d/ },
        };
      });
    });

    it('kubelets and the API server are restarted while objects are deleted', async (test) => {
      const kit = kitFor(test);
      if (kit === undefined) return;
      const model = await watchedDemo();
      try {
        await faults.of(test, async () => {
          const gate = 'restarted';
          model.shut(gate);
          const files = steady(bench.site, { tasks: 4, steps: 2, batch: { concurrency: 4 } });
          const batch = await bench.workspace.launch('restarted', { ...files, endpoint: model.url, gate });
          await bench.workspace.waitForRows(batch, (rows) => rows.every(({ state }) => state === 'running'));
          const following = follow(batch);
          const [victim] = await bench.workers(batch);
          const { nodes } = bench.site;
          for (const node of nodes) kit.kubelet(node, 'kill');
          try {
            for (const kind of ['Secret', 'ConfigMap'] as const)
              assert.ok(await bench.cluster.remove(kind, batchName(batch)));
            for (const kind of ['Service', 'RoleBinding'] as const)
              assert.ok(await bench.cluster.remove(kind, NAMES.server));
            await bench.cluster.remove('Pod', victim?.metadata.name ?? '', { graceSeconds: 0 });
            kit.process('kube-apiserver', 'kill');
          } finally {
            kit.process('kube-apiserver', 'start');
            for (const node of nodes) kit.kubelet(node, 'start');
          }
          await reportOf(batch, 'installation');
          const lacking = await incident(bench, batch, /The installation of the server lacks/);
          await printed().runAll(commandsOf(lacking));
          // Only now may the server create them.
          await reportOf(batch, 'objects_lost');
          model.open(gate);
          await following;
          return {
            batch,
            attempts: 4,
            report: { what: 'installation', like: /lacks every right of its account \(Role or RoleBinding \S+\)/ },
            also: [{ what: 'objects_lost', like: /^ConfigMap \S+ and Secret \S+ were deleted by someone else/ }],
          };
        });
      } finally {
        await model.close();
      }
    });

    it('the API server hangs, stops, and is restarted', async (test) => {
      const kit = kitFor(test);
      if (kit === undefined) return;
      await faults.of(test, async () => {
        // Eight of 16 at once, a second for each step: work for longer than the outage. After a long outage the cluster
        // takes all its nodes for silent at first: the batch must continue during that time.
        const seconds = AWAY_SECONDS + (AWAY_SECONDS > GRACE_SECONDS ? 30 : 12);
        const batch = await bench.workspace.launch(
          'away',
          steady(bench.site, {
            tasks: 8,
            steps: Math.ceil(seconds / 2),
            latencyMs: 1_000,
            batch: { attempts: 2, concurrency: 8 },
          }),
        );
        await bench.workspace.waitForRows(
          batch,
          (rows) => rows.filter(({ progress }) => progress.steps > 0).length === 8,
        );
        const following = follow(batch);
        // this duration is part of the test
        const wait = (share: number) => new Promise((resolve) => setTimeout(resolve, share * AWAY_SECONDS * 1000));
        kit.process('kube-apiserver', 'pause');
        try {
          await wait(0.3);
        } finally {
          kit.process('kube-apiserver', 'kill');
        }
        try {
          await wait(0.7);
        } finally {
          kit.process('kube-apiserver', 'start');
        }
        await following;
        const lost = ofKind(await bench.workspace.events(batch), 'infra').filter(
          ({ data }) => data.what === 'node_lost',
        );
        assert.deepEqual(
          lost.map(({ data }) => data.text),
          [],
          'its pods went on',
        );
        return {
          batch,
          attempts: 16,
          report: { what: 'cluster_away', like: /^The server cannot reach the cluster\. Running pods continue/ },
          also: [{ what: 'cluster_back', like: /The cluster is reachable again after \d/ }],
        };
      });
    });
  });
});
