/**
 * What others do to the objects of a batch and of its installation: every attempt ends exactly once, one line reports
 * it, and everything heals by itself or with the one command that was printed, which runs as it is. Prints how long it
 * took until objects existed again.
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import type { TargetFinding } from '../../src/client/targets/status/finding.ts';
import type { TargetStatus } from '../../src/client/targets/targetStatus.ts';
import { newId } from '../../src/common/ids.ts';
import { jsonOf } from '../../src/common/json.ts';
import type { Kind } from '../../src/kubernetes/access/kinds.ts';
import { batchLabels, batchName, labels, NAMES, selector } from '../../src/kubernetes/names.ts';
import { WORKER_FILE } from '../../src/kubernetes/programs/workerBootstrap.ts';
import { STORE_VERSION, WORKER_PROTOCOL } from '../../src/protocol/version.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { BuiltVersion } from '../support/otherVersion.ts';
import { ofKind } from '../support/testWorkspace.ts';
import { watchedDemo } from '../support/watchedDemo.ts';
import { steady } from './support/batches.ts';
import { ClusterBench, TARGET, until } from './support/clusterBench.ts';
import { FaultTable } from './support/faultTable.ts';
import { commandsOf, incident, PrintedCommands } from './support/printedCommands.ts';

const KEY = 'ROLLOUT_TEST_HEALING';
const VALUE = 'value-of-the-test';
/** Numbers to reach: noticed within 30 s, created again within 10 s of that. */
const NOTICED_MS = 30_000;
const CREATED_MS = 10_000;
/** The kit's pods are on the host's network, so its namespaces cannot enforce `restricted`. */
const ACCEPTED = new Set(['security']);

describe('objects that others delete or take', { timeout: 20 * 60_000 }, () => {
  let bench: ClusterBench;
  let printed: PrintedCommands;
  const faults = new FaultTable(() => bench);
  const times: string[] = [];
  before(async () => {
    process.env[KEY] = VALUE;
    bench = await ClusterBench.open('healing');
    // At once, in an empty namespace: both succeed, and the result is one installation.
    await Promise.all([bench.install(), bench.install()]);
    printed = new PrintedCommands(bench);
  });
  after(async () => {
    faults.print();
    if (times.length > 0) console.log(`${times.join('\n')}\n`);
    await bench.close();
  });

  async function status(...more: string[]): Promise<{ code: number | null; findings: readonly TargetFinding[] }> {
    const ran = await bench.rollout('target', 'status', TARGET, '--json', ...more);
    const { targets } = JSON.parse(ran.stdout) as { targets: TargetStatus[] };
    return { code: ran.code, findings: targets[0]?.findings ?? [] };
  }

  async function finding(name: string, ...more: string[]): Promise<TargetFinding> {
    const { findings } = await status(...more);
    const found = findings.find((each) => each.name === name);
    assert.ok(found !== undefined, JSON.stringify(findings));
    return found;
  }

  /** Everything is ✓, with a pod that reached the server. */
  async function assertWell(): Promise<void> {
    let last: Awaited<ReturnType<typeof status>> | undefined;
    await until('everything is well', async () => {
      last = await status();
      return last.code === 0 && last.findings.every(({ name, state }) => state === 'ok' || ACCEPTED.has(name));
    }).catch((error: unknown) => {
      assert.fail(`${String(error)}: ${JSON.stringify(last)}`);
    });
    assert.ok(last?.findings.some(({ name }) => name === 'network'));
    const left = await bench.cluster.list('Pod', { labels: 'rollout-studio/probe' });
    assert.deepEqual(
      left.map(({ metadata }) => metadata.name),
      [],
      'the status leaves no pod',
    );
  }

  /** A batch whose pods need a value, and that runs for some seconds. */
  async function underWay(name: string): Promise<string> {
    const files = steady(bench.site, {
      tasks: 4,
      steps: 20,
      pods: { count: 1 },
      batch: { attempts: 2, concurrency: 8 },
    });
    const batch = await bench.workspace.launch(name, { ...files, model: { headers: { 'x-key': `\${env:${KEY}}` } } });
    await bench.workspace.waitForRows(batch, (rows) => rows.some(({ progress }) => progress.steps > 0));
    return batch;
  }

  async function command(batch: string, verb: 'pause' | 'resume'): Promise<void> {
    await (await bench.workspace.api()).commandBatch(batch, { command: newId('c'), verb, by: 'test' });
  }

  /** The same, held until it is resumed, so that it has not ended before what the test does to it. */
  async function held(name: string): Promise<string> {
    const batch = await underWay(name);
    await command(batch, 'pause');
    return batch;
  }

  async function losePods(batch: string): Promise<void> {
    for (const { metadata } of await bench.cluster.list('Pod', { labels: selector(batchLabels(batch)) }))
      await bench.cluster.remove('Pod', metadata.name, { graceSeconds: 0 });
  }

  /** Returns the hash of the programs that a new pod of a batch gets. */
  async function programsOf(batch: string): Promise<string | undefined> {
    const secret = await bench.cluster.get('Secret', batchName(batch));
    const worker = Buffer.from(secret?.data?.[WORKER_FILE] ?? '', 'base64').toString('utf8');
    return z.object({ programs: z.string() }).safeParse(jsonOf(worker)).data?.programs;
  }

  const serverInfo = async () => (await bench.workspace.api()).server();
  const reportOf = (batch: string, what: string) =>
    bench.workspace.waitForEvents(batch, (events) =>
      events.some((event) => event.kind === 'infra' && event.data.what === what),
    );

  it('are none in a new installation: all is well, and a pod reaches the server', async () => {
    await assertWell();
    const { findings } = await status('--no-probe');
    assert.equal(findings.find(({ name }) => name === 'network')?.text, 'not tried: no pod was to be started');
  });

  describe('of a batch', { concurrency: 4 }, () => {
    it('its Secret, its ConfigMap, and all its pods are deleted', (test) =>
      faults.of(test, async () => {
        const batch = await underWay('lost');
        const name = batchName(batch);
        const kinds = ['Secret', 'ConfigMap', 'NetworkPolicy'] as const;
        for (const kind of kinds) assert.ok(await bench.cluster.remove(kind, name));
        const since = performance.now();
        await losePods(batch);
        for (const kind of kinds)
          await until(`the ${kind} is there again`, async () => (await bench.cluster.get(kind, name)) !== undefined);
        const existed = performance.now() - since;
        const events = await reportOf(batch, 'objects_lost');
        const [lost] = ofKind(events, 'infra').filter(({ data }) => data.what === 'objects_lost');
        const created = lost?.data.ms ?? Number.NaN;
        times.push(`objects of a batch: there again ${Math.round(existed)} ms after they were deleted`);
        times.push(`objects of a batch: created again ${created} ms after the server noticed`);
        assert.ok(existed - created < NOTICED_MS && created < CREATED_MS, times.join('; '));
        return {
          batch,
          attempts: 8,
          report: { what: 'objects_lost', like: /^ConfigMap \S+, Secret \S+, and NetworkPolicy \S+ were deleted by/ },
        };
      }));

    it('its values are lost with its Secret and all its pods', async (test) => {
      if (bench.site.kit === undefined) {
        faults.skip(test, 'the data of the server is not on this machine');
        return;
      }
      await faults.of(test, async () => {
        const batch = await underWay('valueless');
        rmSync(path.join(bench.data, 'secrets', `${batch}.json`));
        assert.ok(await bench.cluster.remove('Secret', batchName(batch)));
        await losePods(batch);
        await reportOf(batch, 'values_lost');
        const lost = await incident(bench, batch, /are lost/);
        assert.match(lost, new RegExp(KEY));
        assert.doesNotMatch(lost, new RegExp(VALUE));
        assert.deepEqual(commandsOf(lost), [`rollout resume --target ${TARGET} ${batch}`]);
        await printed.runAll(commandsOf(lost));
        return {
          batch,
          attempts: 8,
          report: { what: 'values_lost', like: /^No pod can start\. The values of \S+ are lost/ },
        };
      });
    });

    it('its Job is deleted', (test) =>
      faults.of(test, async () => {
        const batch = await underWay('jobless');
        const name = batchName(batch, 1);
        assert.ok(await bench.cluster.remove('Job', name, { propagation: 'Background' }));
        return {
          batch,
          attempts: 8,
          report: { what: 'job_deleted', like: new RegExp(`^Job ${name} was deleted by someone else`) },
        };
      }));

    it('another program has the names of its objects', (test) =>
      faults.of(test, async () => {
        const batch = await underWay('taken');
        const foreign = { apiVersion: 'v1', kind: 'Secret', stringData: { theirs: 'theirs' } };
        assert.ok(await bench.cluster.remove('Secret', batchName(batch)));
        await bench.cluster.create({ ...foreign, metadata: { name: batchName(batch) } });
        await bench.cluster.create({
          apiVersion: 'batch/v1',
          kind: 'Job',
          metadata: { name: batchName(batch, 2) },
          spec: {
            suspend: true,
            template: { spec: { restartPolicy: 'Never', containers: [{ name: 'theirs', image: bench.site.image }] } },
          },
        });
        await bench.cluster.remove('Job', batchName(batch, 1), { propagation: 'Background' });
        await reportOf(batch, 'objects_taken');
        const theirs = await bench.cluster.get('Secret', batchName(batch));
        assert.deepEqual(Object.keys(theirs?.data ?? {}), ['theirs'], 'it is as it was');
        await printed.runAll(commandsOf(await incident(bench, batch, /belongs to another program/)));
        await bench.workspace.ended(batch);
        const jobs = await bench.cluster.list('Job', { labels: selector(batchLabels(batch)) });
        assert.ok(
          jobs.some(({ metadata }) => metadata.name === batchName(batch, 3)),
          'it took the next name',
        );
        assert.ok(await bench.cluster.get('Job', batchName(batch, 2)), 'and left theirs');
        return {
          batch,
          attempts: 8,
          report: { what: 'objects_taken', like: /^No pod can start\. The Secret \S+ in namespace \S+ belongs to/ },
        };
      }));
  });

  describe('of the installation', () => {
    it('its Service, Role, and RoleBinding are deleted, and another program takes a name', (test) =>
      faults.of(test, async () => {
        const batch = await held('roleless');
        const since = performance.now();
        for (const kind of ['Service', 'RoleBinding', 'Role'] satisfies Kind[])
          assert.ok(await bench.cluster.remove(kind, NAMES.server));
        await reportOf(batch, 'installation');
        const noticed = performance.now() - since;
        times.push(`objects of the installation: noticed ${Math.round(noticed)} ms after they were deleted`);
        assert.ok(noticed < NOTICED_MS);
        assert.match((await serverInfo()).troubles?.join() ?? '', /rollout cluster upgrade --force\.$/);
        const broken = await status('--no-probe');
        assert.equal(broken.code, 1);
        const objects = broken.findings.find(({ name }) => name === 'objects');
        assert.match(objects?.text ?? '', /^missing: Role \S+, RoleBinding \S+, and Service \S+$/);
        assert.equal(broken.findings.find(({ name }) => name === 'rights')?.state, 'wrong');
        // Somebody else is faster.
        await bench.cluster.create({
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: NAMES.server },
          spec: { ports: [{ port: 80 }], selector: { app: 'theirs' } },
        });
        assert.match((await finding('objects', '--no-probe')).text, /of another program: Service rollout-studio$/);
        const refused = await bench.rollout('cluster', 'upgrade');
        assert.notEqual(refused.code, 0);
        assert.match(refused.stderr, /Service rollout-studio in namespace \S+ belongs to another program\./);
        const theirs = await bench.cluster.get('Service', NAMES.server);
        assert.deepEqual(theirs?.spec?.selector, { app: 'theirs' }, 'it is as it was');
        assert.ok(await bench.cluster.remove('Service', NAMES.server));
        await printed.runAll(
          commandsOf(objects?.hint, await incident(bench, batch, /The installation of the server lacks/)),
        );
        await until('the server sees it', async () => (await serverInfo()).troubles === undefined);
        await assertWell();
        await command(batch, 'resume');
        return {
          batch,
          attempts: 8,
          report: {
            what: 'installation',
            like: /lacks every right of its account \(Role or RoleBinding rollout-studio\)/,
          },
        };
      }));

    it('the server is scaled to 0, changed, and back', async (test) => {
      if (!bench.site.durable) {
        faults.skip(test, 'this cluster has no storage that outlives a pod');
        return;
      }
      await faults.of(test, async () => {
        const batch = await held('scaled');
        await bench.cluster.patch('Deployment', NAMES.server, { spec: { replicas: 0, revisionHistoryLimit: 3 } });
        await until(
          'its pod has ended',
          async () => (await bench.cluster.list('Pod', { labels: selector(labels('server')) })).length === 0,
        );
        const server = await finding('server');
        assert.deepEqual([server.state, server.text], ['wrong', /scaled to 0/.exec(server.text)?.input]);
        assert.match(commandsOf(server.hint).join(), /^kubectl .*scale deployment rollout-studio --replicas=1 /);
        await printed.runAll(commandsOf(server.hint));
        const objects = await finding('objects', '--no-probe');
        assert.match(objects.text, /^changed: Deployment \S+ \(spec\.revisionHistoryLimit is 3, not 0\)$/);
        await printed.runAll(commandsOf(objects.hint));
        await assertWell();
        await command(batch, 'resume');
        return {
          batch,
          attempts: 8,
          report: { what: 'server_back', like: /^The server was restarted/ },
        };
      });
    });

    it('limits and a quota are added that refuse its pods', (test) =>
      faults.of(test, async () => {
        const batch = await underWay('limited');
        await bench.cluster.create({
          apiVersion: 'v1',
          kind: 'LimitRange',
          metadata: { name: 'tiny' },
          spec: { limits: [{ type: 'Container', max: { memory: '1Mi' } }] },
        });
        await bench.cluster.create({
          apiVersion: 'v1',
          kind: 'ResourceQuota',
          metadata: { name: 'none' },
          spec: { hard: { pods: '1' } },
        });
        await until(
          'the quota counts',
          async () => (await bench.cluster.get('ResourceQuota', 'none'))?.status?.used?.['pods'] !== undefined,
        );
        await losePods(batch);
        const { code, findings } = await status();
        assert.equal(code, 1);
        const limits = findings.find(({ name }) => name === 'limits');
        assert.equal(limits?.state, 'wrong', JSON.stringify(findings));
        assert.match(findings.find(({ name }) => name === 'network')?.text ?? '', /^not tried: the cluster does not/);
        await bench.workspace.waitForEvents(batch, (events) =>
          ofKind(events, 'infra').some(({ data }) => data.what === 'pod_refused' || data.what === 'quota'),
        );
        await bench.cluster.remove('LimitRange', 'tiny');
        await until('the quota refuses', async () => /quota/.test((await finding('limits')).text));
        await bench.cluster.remove('ResourceQuota', 'none');
        return {
          batch,
          attempts: 8,
          report: {
            what: 'pod_refused',
            like: /^Cannot create pods for \S+: .*\b1Mi\b/,
          },
        };
      }));

    it('an installation and an upgrade at once, after Secrets and options were deleted, are one', (test) =>
      faults.of(test, async () => {
        const batch = await held('upgraded');
        await bench.cluster.remove('Secret', NAMES.tokens);
        await bench.cluster.remove('ConfigMap', NAMES.options);
        const change = (verb: string) => bench.rollout('cluster', verb, '--memory', '1536Mi');
        for (const { code, stdout, stderr } of await Promise.all([change('install'), change('upgrade')]))
          assert.equal(code, 0, `${stdout}\n${stderr}`);
        await assertWell();
        await command(batch, 'resume');
        return { batch, attempts: 8, report: { what: 'server_back', like: /^The server was restarted/ } };
      }));

    it('the server is upgraded and rolled back in mid-call; pods of each run under both @deep', async (test) => {
      if (bench.site.port === undefined || !bench.site.durable) {
        faults.skip(test, 'pods do not reach a model of this machine, or the data does not outlive a pod');
        return;
      }
      const versions = [{ worker: WORKER_PROTOCOL + 1 }, { store: STORE_VERSION - 1 }];
      const built = await Promise.all(versions.map((one) => BuiltVersion.build({ ...one, installs: true })));
      using newer = built[0];
      using lacking = built[1];
      // Its calls wait while the server is replaced, however long that takes.
      const model = await watchedDemo();
      try {
        await faults.of(test, async () => {
          const [steps, gate] = [4, 'versions'];
          const files = steady(bench.site, { tasks: 4, steps, batch: { attempts: 2, concurrency: 8 } });
          model.shut(gate);
          const batch = await bench.workspace.launch('versions', { ...files, endpoint: model.url, gate });
          const running = (rows: readonly RolloutRow[]) => rows.filter(({ state }) => state === 'running');
          await bench.workspace.waitForRows(batch, (rows) => running(rows).length === 8);
          const before = await programsOf(batch);
          const upgraded = await bench.rolloutBy(newer?.file('cli') ?? '', 'cluster', 'upgrade');
          assert.equal(upgraded.code, 0, `${upgraded.stdout}\n${upgraded.stderr}`);
          await until('new pods get the new programs', async () => (await programsOf(batch)) !== before);
          const pods = (await bench.workers(batch)).map(({ metadata }) => metadata.name);
          const [victim = ''] = pods;
          assert.ok(await bench.cluster.remove('Pod', victim, {}));
          await reportOf(batch, 'worker_leaving');
          for (let call = 0; call < 8; call++) model.pass(gate);
          await bench.workspace.waitForRows(batch, (rows) =>
            running(rows).some(({ worker = '' }) => !pods.includes(worker)),
          );
          const back = await bench.rollout('cluster', 'upgrade');
          assert.equal(back.code, 0, `${back.stdout}\n${back.stderr}`);
          await until('new pods get the old programs', async () => (await programsOf(batch)) === before);
          model.open(gate);
          const rows = await bench.workspace.ended(batch);
          assert.ok(rows.every((row) => row.try === 1));
          assert.equal(model.receivedRequests.length, 8 * (steps + 1), 'each call was made once');
          // One that could not read the store changes nothing.
          const refused = await bench.rolloutBy(lacking?.file('cli') ?? '', 'cluster', 'upgrade');
          assert.notEqual(refused.code, 0, refused.stdout);
          assert.match(refused.stderr, /The server in the cluster is newer .*, so nothing was changed\./);
          assert.equal((await status('--no-probe')).code, 0);
          return {
            batch,
            attempts: 8,
            report: {
              what: 'server_back',
              like: /^The server was restarted, .* reconnected after/,
              isRepeated: true,
            },
            also: [
              { what: 'pod_handover', like: new RegExp(`^Pod ${victim} was deleted. It handed its rollouts over`) },
            ],
          };
        });
      } finally {
        await model.close();
      }
    });
  });
});
