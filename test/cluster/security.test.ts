/** What pods of ours may do, as the cluster's API server judges it and as a program in a pod finds it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { BatchV1Api } from '@kubernetes/client-node';
import { StudioError } from '../../src/common/errors.ts';
import { batchJob } from '../../src/executor/kubernetes/jobManifest.ts';
import type { KubeObject } from '../../src/kubernetes/access/objects.ts';
import { manifests } from '../../src/kubernetes/install/manifests/all.ts';
import { type InstallInput, resolveOptions } from '../../src/kubernetes/install/options.ts';
import { LABEL, NAMES, SERVER_PORT } from '../../src/kubernetes/names.ts';
import { podSecurityLabels } from '../../src/kubernetes/security/podSecurity.ts';
import { type End, isAllowed, selecting } from '../support/networkRules.ts';
import { steady } from './support/batches.ts';
import { ClusterBench, until } from './support/clusterBench.ts';

const ARCHIVE = { sha: 'a'.repeat(64), packed: Buffer.from('packed') };

interface Template {
  readonly spec: Record<string, unknown>;
}

/** An address that a batch names. */
const NAMED = '203.0.113.8';

/** Prints what the kernel says about the process, and which folders can be written to. */
const PROBE = `
const { readFileSync, readdirSync, renameSync, writeFileSync, existsSync } = require('node:fs');
const status = readFileSync('/proc/self/status', 'utf8');
const field = (name) => new RegExp('^' + name + ':\\\\s*(\\\\S+)', 'm').exec(status)[1];
const does = (action) => { try { action(); return true; } catch { return false; } };
const folders = ['/', '/usr', '/etc', '/app', '/rollout', '/rollout/programs', '/rollout/work', '/tmp'];
const directories = '/rollout/work/rollouts';
const named = (pid, text) =>
  does(() => { if (!readFileSync('/proc/' + pid + '/cmdline', 'utf8').includes(text)) throw 0; });
console.log('probe ' + JSON.stringify({ uid: field('Uid'), caps: field('CapEff'), bounding: field('CapBnd'),
  noNew: field('NoNewPrivs'),
  writes: [...folders, process.env.TMPDIR].map((folder) => does(() => writeFileSync(folder + '/probe', ''))),
  token: existsSync('/var/run/secrets/kubernetes.io'),
  others: ['/rollout/config', '/rollout/bootstrap', '/rollout/own'].filter((folder) => existsSync(folder)),
  worker: readdirSync('/proc').filter((pid) => Number(pid) > 0 && named(pid, 'worker.mjs')).length +
    Object.keys(process.env).filter((name) => /TOKEN|SECRET|POD_NAME/.test(name)).length,
  replaced: does(() => renameSync(process.cwd(), process.cwd() + 'x')),
  parent: does(() => renameSync(directories, '/rollout/work/x')),
  listed: does(() => readdirSync(directories)) }));`;

describe('the security of pods', { timeout: 5 * 60_000 }, () => {
  let bench: ClusterBench;
  let restricted: string;
  before(async () => {
    bench = await ClusterBench.installed('security');
    restricted = `${bench.namespace}-restricted`;
    await bench.cluster.create({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: restricted, labels: podSecurityLabels('restricted') },
    });
  });
  after(async () => {
    await bench.cluster.remove('Namespace', restricted);
    await bench.close();
  });

  function rendered(input: InstallInput): [string, Template][] {
    return manifests(resolveOptions(input), ARCHIVE, restricted)
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ metadata, ...object }) => [metadata.name, (object['spec'] as { template: Template }).template]);
  }

  function worker(sidecars: Record<string, unknown>[]): Template {
    const job = batchJob({
      batch: 'b1',
      round: 1,
      namespace: restricted,
      pods: { sidecars },
      sizing: { completions: 1, parallelism: 1, slots: 1 },
      image: bench.site.image,
      pullPolicy: undefined,
      settled: 0,
      fruitless: 0,
    });
    return (job['spec'] as { template: Template }).template;
  }

  /** What the API server warns of when a Job with this pod is created. */
  async function warning({ spec }: Template): Promise<string | undefined> {
    const { headers } = await new BatchV1Api(bench.cluster.connection.configuration()).createNamespacedJobWithHttpInfo({
      namespace: restricted,
      dryRun: 'All',
      body: {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'probe' },
        spec: { template: { spec: { ...spec, restartPolicy: 'Never' } as never } },
      },
    });
    return headers['warning'];
  }

  it('passes the level restricted for every pod', async () => {
    const pods: [string, Template][] = [
      ...rendered({ vllm: { model: 'org/model' } }),
      ...rendered({ storage: 'emptyDir' }),
      ...rendered({ storage: 'postgres:db' }),
      ['worker', worker([])],
      ['sidecar', worker([{ name: 'side', image: 'side:1', securityContext: { runAsUser: 7 } }])],
    ];
    assert.equal(pods.length, 6);
    for (const [name, template] of pods) assert.equal(await warning(template), undefined, name);
    const [, onNode] = rendered({ storage: 'hostPath:/data' })[0] ?? [];
    assert.match((await warning(onNode ?? worker([]))) ?? '', /would violate PodSecurity .*hostPath/, 'it does judge');
  });

  it('is enforced when a pod is created', async () => {
    const pod = (template: Template): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'probe', namespace: restricted },
      spec: template.spec,
    });
    const refusal = async (template: Template): Promise<string> => {
      try {
        await bench.cluster.create(pod(template), { dryRun: true });
        return '';
      } catch (error) {
        assert.ok(StudioError.is(error, 'forbidden'), String(error));
        return error.message;
      }
    };
    const refused = await refusal({ ...worker([]), spec: { ...worker([]).spec, serviceAccountName: 'default' } });
    // The kit puts each pod on the host's network, which is all that its API server objects to.
    if (bench.site.kit === undefined) assert.equal(refused, '');
    else assert.match(refused, /violates PodSecurity "restricted:latest": host namespaces \(hostNetwork=true\)[^,]*$/);
  });

  it('is reported by the status of the target', async () => {
    const { stdout } = await bench.rollout('target', 'status');
    assert.match(
      stdout,
      bench.site.kit === undefined
        ? /✓ security +the namespace enforces the pod security level restricted/
        : /– security +the namespace does not enforce .*: it lacks pod-security\.kubernetes\.io\/enforce=restricted\n/,
    );
  });

  it('leaves programs of tools no rights, no token, and no place to write but their volumes', async () => {
    const { workspace, site } = bench;
    const command = `node --eval "eval(Buffer.from('${Buffer.from(PROBE).toString('base64')}','base64').toString())"`;
    const batch = steady(site, { tasks: 1, steps: 1, pods: { count: 1 } });
    const id = await workspace.launch('probe', {
      ...batch,
      tasks: [{ id: 't', question: `call execute_command ${JSON.stringify({ command })}\nanswer 42`, answer: '42' }],
      agent: { ...batch.agent, tools: [{ builtin: ['terminal'] }] },
    });
    const [row] = await bench.assertSettledOnce(id, 1);
    const events = await workspace.events(row?.rollout ?? '');
    const result = JSON.stringify(
      events.flatMap((event) => (event.kind === 'message' && event.data.role === 'tool' ? [event.data.parts] : [])),
    );
    const found = /probe (\{.*?\})/.exec(result.replaceAll('\\', ''))?.[1];
    assert.ok(found !== undefined, result);
    assert.deepEqual(JSON.parse(found), {
      uid: '1001',
      caps: '0000000000000000',
      bounding: '0000000000000000',
      noNew: '1',
      writes: [false, false, false, false, false, false, false, true, true],
      token: false,
      others: [],
      worker: 0,
      replaced: false,
      parent: false,
      listed: false,
    });
  });

  it('lets pods reach only what they need, by policies that select them and nothing else', async () => {
    const { workspace, site, cluster, namespace } = bench;
    const batch = steady(site, { tasks: 2, steps: 40, pods: { count: 1 } });
    const id = await workspace.launch('network', {
      ...batch,
      agent: {
        ...batch.agent,
        tools: [
          { builtin: ['calculator'] },
          { builtin: ['vision'], vision: { endpoint: `http://${NAMED}:8000/v1`, model: 'm' } },
        ],
      },
    });
    await until('its pod runs', async () => (await bench.workers(id)).length === 1);
    const policies = await cluster.list('NetworkPolicy');
    const pods = await cluster.list('Pod');
    const [worker] = await bench.workers(id);
    const end = (pod: KubeObject | undefined): End => ({ namespace, labels: pod?.metadata.labels ?? {} });
    const server = pods.find((pod) => pod.metadata.labels?.[LABEL.component] === 'server');
    assert.deepEqual(selecting(policies, end(worker)).sort(), [`rollout-${id}`, NAMES.allPods, NAMES.worker]);
    // Policies of earlier batches stay as long as their Jobs.
    const own = selecting(policies, end(server)).filter((name) => !name.startsWith('rollout-b') || name.includes(id));
    assert.deepEqual(own.sort(), [`rollout-${id}-server`, NAMES.server, NAMES.allPods]);
    assert.deepEqual(selecting(policies, { namespace, labels: { app: 'foreign' } }), []);
    const reaches = (to: End, port: number): boolean => isAllowed(policies, end(worker), to, port);
    const outside: readonly (readonly [ip: string, port: number])[] = [
      [NAMED, 8000],
      [NAMED, 443],
      ['198.51.100.9', 443],
      ['169.254.169.254', 80],
    ];
    assert.deepEqual(
      outside.map(([ip, port]) => reaches({ ip }, port)),
      [true, false, false, false],
    );
    assert.ok(reaches(end(server), site.port ?? SERVER_PORT));
    assert.ok(!isAllowed(policies, end(server), end(worker), 80), 'nobody calls a worker');
    await bench.rollout('cancel', id);
    await workspace.ended(id);
    await cluster.remove('Job', `rollout-${id}-1`);
    await until('its policies are gone with its Job', async () =>
      (await cluster.list('NetworkPolicy')).every(({ metadata }) => !metadata.name.includes(id)),
    );
  });
});
