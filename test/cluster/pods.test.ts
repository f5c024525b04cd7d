/** How a batch gets its pods: one for each attempt, its secrets, and queueing when quota is short. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { connectTarget } from '../../src/client/targets/connectTarget.ts';
import { StudioError } from '../../src/common/errors.ts';
import { sha256Hex } from '../../src/common/hash.ts';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson, type JsonObject } from '../../src/common/json.ts';
import { batchLabels, NAMES, selector } from '../../src/kubernetes/names.ts';
import type { Api } from '../../src/protocol/api.ts';
import type { PodList } from '../../src/protocol/pods.ts';
import { openUsers } from './support/accessTable.ts';
import { Accounts } from './support/accounts.ts';
import { steady } from './support/batches.ts';
import { ClusterBench, until } from './support/clusterBench.ts';
import { cpuHoursOf, PodCounter } from './support/usedPods.ts';

const SECRET = 'a-value-that-nobody-may-see';
/** A sidecar that is ready only if it can write to its volume and nowhere else, and has its secret. */
const SIDE = `
const { writeFileSync } = require('node:fs');
if (process.env.KEY !== '${SECRET}') throw new Error('no secret');
try { writeFileSync('/app/file', ''); } catch (error) { if (error.code === 'EROFS') writeFileSync('/data/ready', ''); }
writeFileSync('/tmp/file', '');
process.once('SIGTERM', () => process.exit(0));
setInterval(() => {}, 1000);`;

describe('pods of a batch', { timeout: 20 * 60_000 }, () => {
  let bench: ClusterBench;
  const jobNames = async (): Promise<string[]> =>
    (await bench.cluster.list('Job')).map(({ metadata }) => metadata.name);
  before(async () => {
    bench = await ClusterBench.installed('pods', { users: { ann: { pods: 3 } } });
  });
  after(() => bench.close());

  const podsOf = async (batch: string): Promise<{ name: string; phase: string | undefined }[]> =>
    (await bench.cluster.list('Pod', { labels: selector(batchLabels(batch)) })).map(({ metadata, status }) => ({
      name: metadata.name,
      phase: status?.phase,
    }));

  it('are one for each attempt if requested', async () => {
    const { workspace, site } = bench;
    const batch = await workspace.launch(
      'alone',
      steady(site, { tasks: 2, steps: 1, pods: { isolation: 'pod' }, batch: { attempts: 2 } }),
    );
    const rows = await bench.assertSettledOnce(batch, 4);
    assert.equal(new Set(rows.map(({ worker }) => worker)).size, 4, 'no two attempts had one worker');
    await until('all of them ended well', async () =>
      (await podsOf(batch)).every(({ phase }) => phase === 'Succeeded'),
    );
    assert.equal((await podsOf(batch)).length, 4);
  });

  it('wait when quota is short, which is reported once and fails nothing', async () => {
    const { workspace, site, cluster, namespace } = bench;
    const quota = (pods: string) =>
      cluster.apply({
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'tight', namespace },
        spec: { hard: { 'count/jobs.batch': pods } },
      });
    await quota('0');
    await until(
      'the quota counts',
      async () => (await cluster.get('ResourceQuota', 'tight'))?.status?.hard !== undefined,
    );
    const batch = await workspace.launch('queued', steady(site, { tasks: 2, steps: 1 }));
    await workspace.waitForEvents(batch, (events) =>
      events.some((event) => event.kind === 'infra' && event.data.what === 'quota'),
    );
    const status = await bench.rollout('target', 'status');
    assert.match(status.stdout, /✗ quota +used up: count\/jobs\.batch/);
    assert.ok(await cluster.remove('ResourceQuota', 'tight'));
    await bench.assertSettledOnce(batch, 2);
    const reports = (await workspace.events(batch)).filter(
      (event) => event.kind === 'infra' && event.data.what === 'quota',
    );
    assert.equal(reports.length, 1);
  });

  it('are released while their batch is paused, and return when it is resumed', async () => {
    const { workspace, site, cluster } = bench;
    // Longer than commands take on a busy machine.
    const files = steady(site, { tasks: 2, steps: 16, latencyMs: 1000, batch: { attempts: 2 } });
    const batch = await workspace.launch('released', files);
    await workspace.waitForRows(batch, (rows) => rows.some(({ progress }) => progress.steps > 0));
    // As people look at them, with the rights of the server's own account. It must not end meanwhile.
    assert.equal((await bench.rollout('pause', batch)).code, 0);
    const listed = JSON.parse((await bench.rollout('pods', batch, '--json')).stdout) as PodList;
    // Another pod may have started since, and has nothing to run while its batch is paused.
    const running = listed.pods.find(({ state, rollouts }) => state === 'running' && rollouts.length > 0);
    assert.ok(running !== undefined, JSON.stringify(listed));
    assert.ok(running.ready && running.node !== undefined, JSON.stringify(running));
    assert.deepEqual(
      running.containers.map(({ name }) => name),
      ['worker', 'tools', 'prepare'],
    );
    assert.ok(running.events.some(({ reason }) => reason === 'Scheduled'));
    for (const container of ['worker', 'tools', 'prepare']) {
      const log = await bench.rollout('pods', batch, '--logs', running.name, '--container', container);
      assert.equal(log.code, 0, log.stderr);
    }
    const none = await bench.rollout('pods', batch, '--logs', NAMES.server);
    assert.match(none.stderr, /has no pod rollout-studio now/);
    const paused = await bench.rollout('pause', batch, '--release-pods');
    assert.match(paused.stdout, /^Paused batch \S+\. Its workers stop /, paused.stderr);
    await workspace.waitForEvents(batch, (events) =>
      events.some((event) => event.kind === 'infra' && event.data.what === 'pods_released'),
    );
    await until('no pod is left', async () => (await podsOf(batch)).length === 0);
    const jobOf = async () => (await cluster.list('Job', { labels: selector(batchLabels(batch)) }))[0];
    assert.equal((await jobOf())?.spec?.suspend, true);
    const begun = (
      await workspace.waitForRows(batch, (rows) => rows.every(({ state }) => state === 'queued' || state === 'ended'))
    ).filter(({ last }) => last > 0);
    assert.equal((await bench.rollout('resume', batch)).code, 0);
    const rows = await bench.assertSettledOnce(batch, 4);
    assert.ok(
      begun.length > 0 && rows.every((row) => row.try === 1 && row.progress.passed === true),
      'no attempt started over',
    );
    assert.equal((await jobOf())?.metadata.name, `rollout-${batch}-1`, 'it is the same Job');
    const bad = (await workspace.events(batch)).filter(
      (event) => event.kind === 'infra' && /^pod_(deleted|failed)$/.test(event.data.what),
    );
    assert.deepEqual(bad, [], 'that they went is no failure');
  });

  it('are no more than a user may have, grow when others end, and count for as long as they ran', async (test) => {
    const { workspace, site, cluster } = bench;
    const accounts = new Accounts(bench);
    test.after(() => accounts.close());
    await openUsers(bench, accounts);
    const apis = new Map<string, Api>();
    for (const user of ['ann', 'admin']) {
      const { context, kubeconfig = '', namespace = '' } = accounts.target(user);
      const place = ['--context', context, '--kubeconfig', kubeconfig, '--namespace', namespace];
      const added = await bench.rolloutWithoutTarget('target', 'add', user, ...place);
      assert.equal(added.code, 0, added.stderr);
      const connection = await connectTarget(user, accounts.target(user), { env: {} });
      test.after(() => connection.close());
      apis.set(user, connection.api);
    }
    const apiOf = (user: string): Api => apis.get(user) ?? assert.fail(user);
    const launch = async (user: string, name: string, tasks: number, steps: number): Promise<string> => {
      const file = workspace.path(workspace.batch(name, steady(site, { tasks, steps })));
      const ran = await bench.rolloutWithoutTarget('run', file, '--detach', '--json', '--target', user);
      assert.equal(ran.code, 0, ran.stderr);
      return z.object({ batch: z.string() }).parse(JSON.parse(ran.stdout)).batch;
    };
    const first = await launch('ann', 'first', 2, 12);
    const others = await launch('admin', 'others', 2, 4);
    await until('its pods run', async () => (await bench.workers(first)).length === 2);
    const batches = new Set([first]);
    await using counter = new PodCounter(cluster, batches);
    const second = await launch('ann', 'second', 8, 40);
    batches.add(second);
    const waiting = async () => (await apiOf('ann').shares()).waiting.find(({ batch }) => batch === second);
    await until('it waits for more pods', async () => (await waiting())?.why === 'pods');
    assert.equal(
      (await waiting())?.text,
      'ann may have 3 pods at once. The batch gets more when pods of other batches end.',
    );
    const jobs = () => cluster.list('Job', { labels: selector(batchLabels(second)) });
    await until('it has the pod that is left', async () => (await jobs())[0]?.spec?.parallelism === 1);
    await until('it gets what others left', async () => (await bench.workers(second)).length === 2);
    await bench.assertSettledOnce(first, 2);
    await bench.assertSettledOnce(second, 8);
    assert.equal(counter.most, 3, 'never more than its user may have');
    assert.equal((await jobs()).length, 1, 'its Job grew');

    type Ran = Awaited<ReturnType<typeof cpuHoursOf>>;
    const isSame = (recorded: number, { hours, second }: Ran): boolean =>
      recorded > hours - 1e-6 && recorded < hours + second;
    const ran = new Map<string, Ran>();
    for (const batch of [first, second, others]) {
      const own = await cpuHoursOf(cluster, batch);
      ran.set(batch, own);
      const recorded = await apiOf('admin').hours(batch);
      const [only] = recorded.models;
      const isRight = recorded.models.length === 1 && only?.model === 'demo' && isSame(only.cpu_hours, own);
      assert.ok(isRight, `${batch} used ${own.hours} CPU hours, not ${JSON.stringify(recorded)}`);
    }
    const { rows } = await apiOf('admin').shares();
    for (const [user, own] of [
      ['ann', [first, second]],
      [':admin', [others]],
    ] as const) {
      const sum = (part: keyof Ran): number => own.reduce((all, batch) => all + (ran.get(batch)?.[part] ?? 0), 0);
      const row = rows.find(({ name }) => name.endsWith(user));
      const isRight = row !== undefined && isSame(row.cpu_hours, { hours: sum('hours'), second: sum('second') });
      assert.ok(isRight, `${user}: ${sum('hours')}, not ${row?.cpu_hours}`);
    }
    test.diagnostic(
      `CPU seconds of the batches: ${[...ran.values()].map(({ hours }) => (hours * 3600).toFixed(3)).join(', ')}`,
    );
  });

  it('hand their rollouts over when they have to end, and no call is made again', async (test) => {
    const { workspace, site, cluster } = bench;
    const steps = 12;
    const batch = await workspace.launch(
      'spot',
      steady(site, { tasks: 4, steps, batch: { attempts: 2 }, pods: { labels: { 'example.org/cost': 'spot' } } }),
    );
    await workspace.waitForRows(batch, (rows) => rows.every(({ progress }) => progress.steps >= 2));
    const victim = await bench.busiest(batch);
    assert.ok(victim !== undefined);
    const { metadata, spec } = victim;
    assert.deepEqual(
      [
        metadata.labels?.['example.org/cost'],
        spec?.terminationGracePeriodSeconds,
        spec?.topologySpreadConstraints?.length,
      ],
      ['spot', 30, 2],
    );
    assert.ok(await cluster.remove('Pod', metadata.name, {}));
    const rows = await bench.assertSettledOnce(batch, 8);
    assert.ok(rows.every((row) => row.try === 1 && row.progress.passed === true));
    const streams = await Promise.all(rows.map(({ rollout }) => workspace.events(rollout)));
    const gaps = streams.flatMap((events) =>
      events.flatMap(({ kind, at }, index) => {
        const next = events.slice(index).find((event) => event.kind === 'rollout.lease');
        return kind === 'rollout.handover' && next !== undefined ? [next.at - at] : [];
      }),
    );
    assert.ok(gaps.length > 0, 'rollouts were handed over');
    for (const events of streams) {
      assert.equal(events.filter(({ kind }) => kind === 'model.start').length, steps + 1, 'each call was made once');
      assert.equal(events.filter((event) => event.kind === 'tool.end' && event.data.status === 'ok').length, steps);
    }
    const infra = (await workspace.events(batch)).flatMap((event) => (event.kind === 'infra' ? [event.data] : []));
    assert.deepEqual(
      infra.flatMap(({ what, text }) =>
        /^(worker|pod)_(?!started|pulling|pending|image|runs)/.test(what) ? [text] : [],
      ),
      [
        `Worker ${metadata.name} has to stop. It hands ${gaps.length} rollouts over to other workers.`,
        `Pod ${metadata.name} was deleted. It handed its rollouts over.`,
      ],
      JSON.stringify(infra),
    );
    const [job] = await cluster.list('Job', { labels: selector(batchLabels(batch)) });
    assert.deepEqual([job?.metadata.name, job?.status?.failed ?? 0], [`rollout-${batch}-1`, 0], 'no pod failed');
    const seconds = gaps.map((ms) => (ms / 1000).toFixed(1)).join(', ');
    test.diagnostic(`rollouts continued ${seconds} s after they were handed over`);
  });

  it('wait for their queue, and a wrong configuration fails their Job immediately, with one line', async () => {
    const { workspace, site, cluster } = bench;
    const batch = await workspace.launch('denied', steady(site, { tasks: 2, steps: 1, pods: { queue: 'nobodys' } }));
    await workspace.waitForEvents(batch, (events) =>
      events.some(
        (event) =>
          event.kind === 'infra' &&
          event.data.what === 'suspended' &&
          event.data.text.includes('is waiting for admission by the queue nobodys: nothing says why. Check that Kueue'),
      ),
    );
    const [job] = await cluster.list('Job', { labels: selector(batchLabels(batch)) });
    assert.deepEqual([job?.spec?.suspend, job?.metadata.labels?.['kueue.x-k8s.io/queue-name']], [true, 'nobodys']);
    const [secret] = await cluster.list('Secret', { labels: selector(batchLabels(batch)) });
    assert.ok(job !== undefined && secret !== undefined);
    const worker = JSON.parse(Buffer.from(secret.data?.['worker.json'] ?? '', 'base64').toString()) as object;
    await cluster.patch('Secret', secret.metadata.name, {
      data: { 'worker.json': Buffer.from(JSON.stringify({ ...worker, token: 'nobodys' })).toString('base64') },
    });
    await cluster.patch('Job', job.metadata.name, { spec: { suspend: false } }); // like Kueue
    const rows = await workspace.ended(batch);
    assert.ok(rows.every(({ progress }) => progress.status === 'infrastructure'));
    const messages = (await workspace.events(batch)).flatMap((event) =>
      event.kind === 'infra' && event.data.what === 'given_up' ? [event.data.text] : [],
    );
    assert.match(
      messages.join('\n'),
      /^The pods of the batch cannot run: .*exit code 2.* does not know this batch \(401\)\.$/,
    );
  });

  it("are not created when a tool's requirement is not satisfied", async () => {
    const { workspace, site } = bench;
    const earlier = await jobNames();
    const batch = steady(site, { tasks: 1, steps: 1 });
    const ran = await workspace.run(
      'run',
      workspace.batch('needy', {
        ...batch,
        agent: { ...batch.agent, tools: [{ mcp: { command: 'uvx', args: ['some-server'] } }] },
      }),
    );
    assert.equal(ran.code, 2, ran.stderr);
    assert.match(
      ran.stderr,
      /needy\S*\.agent\.yaml:\d+:\d+: the MCP server some-server needs uv, which the image of the pods does not have/,
    );
    assert.deepEqual(
      (await jobNames()).filter((name) => !earlier.includes(name)),
      [],
    );
  });

  it('are not created when what a task attaches does not fit', async () => {
    const { workspace, site } = bench;
    const earlier = await jobNames();
    workspace.write('large.txt', 'x'.repeat(3 * 1024 * 1024));
    const files = steady(site, { tasks: 1, steps: 1, pods: { count: 1, limits: { 'ephemeral-storage': '2Mi' } } });
    const ran = await workspace.run(
      'run',
      workspace.batch('large', { ...files, tasks: files.tasks.map((task) => ({ ...task, files: ['large.txt'] })) }),
    );
    assert.equal(ran.code, 2, ran.stderr);
    assert.match(
      ran.stderr,
      /large\.batch\.yaml: pods need 3\.1 MB of disk for files of a task .*, but .* of 2Mi, which is 2\.1 MB\./,
    );
    assert.deepEqual(
      (await jobNames()).filter((name) => !earlier.includes(name)),
      [],
    );
  });

  it('have sidecars without rights, and no others, whatever a client submits', async () => {
    const { workspace, site } = bench;
    const sidecar = {
      name: 'side',
      image: site.image,
      imagePullPolicy: 'IfNotPresent',
      command: ['node', '--eval', SIDE],
      env: [{ name: 'KEY', value: '${env:ROLLOUT_TEST_SECRET}' }],
      startupProbe: { exec: { command: ['node', '--eval', "require('node:fs').statSync('/data/ready')"] } },
      securityContext: { runAsUser: 1000 },
      volumeMounts: [{ name: 'scratch', mountPath: '/data' }],
    };
    const batchWith = (more: JsonObject) =>
      steady(site, { tasks: 1, steps: 1, pods: { count: 1, sidecars: [{ ...sidecar, ...more }] } });
    const env = { ROLLOUT_TEST_SECRET: SECRET };
    const ran = await bench.rolloutIn(
      workspace.path(),
      env,
      'run',
      workspace.batch('sidecar', batchWith({})),
      '--json',
    );
    assert.equal(ran.code, 0, ran.stderr);
    const { batch } = JSON.parse(ran.stdout) as { batch: string };
    await bench.assertSettledOnce(batch, 1);

    const earlier = await jobNames();
    const file = workspace.batch('hostile', batchWith({ envFrom: [{ secretRef: { name: NAMES.tokens } }] }));
    const refused = await bench.rolloutIn(workspace.path(), env, 'run', file);
    assert.equal(refused.code, 2, refused.stdout);
    assert.match(refused.stderr, /hostile\S*\.batch\.yaml:\d+:\d+: unknown key `envFrom` in `pods\.sidecars\[0\]`/);

    // A client that checks nothing itself.
    const { api } = await bench.connection();
    const sent = await api.getBlob((await api.batch(batch)).submission);
    const submission = JSON.parse(new TextDecoder().decode(sent)) as JsonObject & { pods: JsonObject };
    for (const more of [
      { envFrom: [{ secretRef: { name: NAMES.tokens } }] },
      { volumeMounts: [{ name: 'config', mountPath: '/config' }] },
      { securityContext: { privileged: true } },
    ]) {
      const text = canonicalJson({ ...submission, pods: { ...submission.pods, sidecars: [{ ...sidecar, ...more }] } });
      const sha = sha256Hex(text);
      await api.putBlob(sha, new TextEncoder().encode(text));
      await assert.rejects(
        api.createBatch({ batch: newId('b'), submission: sha, open: false, tasks: [], secrets: env }),
        (error) =>
          StudioError.is(error, 'config') && /^\S+\.batch\.yaml:\d+:\d+: .*pods\.sidecars\[0\]/.test(error.message),
        JSON.stringify(more),
      );
    }
    assert.deepEqual(
      (await jobNames()).filter((name) => !earlier.includes(name)),
      [],
    );
  });

  it('have the secrets of their batch, which are nowhere else', async () => {
    const { workspace, site, cluster } = bench;
    const file = workspace.batch('secretive', {
      ...steady(site, { tasks: 1, steps: 1 }),
      model: { headers: { 'x-secret': '${env:ROLLOUT_TEST_SECRET}' } },
    });
    const ran = await bench.rolloutIn(workspace.path(), { ROLLOUT_TEST_SECRET: SECRET }, 'run', file, '--json');
    assert.equal(ran.code, 0, ran.stderr);
    const { batch } = JSON.parse(ran.stdout) as { batch: string };
    await bench.assertSettledOnce(batch, 1);
    const text = JSON.stringify(
      await Promise.all((await workspace.rows(batch)).map(({ rollout }) => workspace.events(rollout))),
    );
    assert.ok(!text.includes(SECRET));
    const pods = await cluster.list('Pod', { labels: selector(batchLabels(batch)) });
    assert.ok(pods.length > 0 && !JSON.stringify(pods).includes(SECRET), 'the manifests name it only');
    await until(
      'its Secret is gone with the batch',
      async () => (await cluster.list('Secret', { labels: selector(batchLabels(batch)) })).length === 0,
    );
  });
});
