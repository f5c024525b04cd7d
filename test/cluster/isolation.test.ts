/** With `isolation: pod`, what a pod has is worth its rollout, and no other one. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { Exec, KubeConfig } from '@kubernetes/client-node';
import { labels, selector } from '../../src/kubernetes/names.ts';
import { PROTOCOL } from '../../src/protocol/version.ts';
import { steady } from './support/batches.ts';
import { ClusterBench, until } from './support/clusterBench.ts';

/**
 * Enrolls with the pod's own token file: as its worker, as another one, and as another pod. Prints how each attempt
 * ended: the name of a rollout, or why there is none.
 */
const THIEF = `
const { readFileSync } = require('node:fs');
const { server, token } = JSON.parse(readFileSync('/rollout/config/worker.json', 'utf8'));
const { POD_NAME: worker, POD_UID: pod } = process.env;
const enroll = (identity) => new Promise((resolve) => {
  const socket = new WebSocket(server.replace('http', 'ws') + '/v1/worker', ['token.' + token]);
  const send = (frame) => socket.send(JSON.stringify(frame));
  socket.onopen = () => send({ type: 'hello', protocol: ${PROTOCOL}, slots: 8, rollouts: [], ...identity });
  socket.onclose = ({ code, reason }) => resolve(code + ' ' + reason);
  socket.onerror = () => resolve('refused');
  socket.onmessage = ({ data }) => {
    const frame = JSON.parse(data);
    if (frame.type === 'welcome') send({ type: 'lease', want: 8 });
    if (frame.type === 'grant') resolve('got ' + frame.rollout);
    if (frame.type === 'granted' && frame.drained) resolve('drained');
  };
});
(async () => {
  const ends = [];
  for (const identity of [{ worker, pod }, { worker: 'x', pod }, { worker: 'x' }, { worker, pod: crypto.randomUUID() }])
    ends.push(await enroll(identity));
  console.log(JSON.stringify(ends));
  process.exit();
})();`;

describe('a pod with one rollout', { timeout: 10 * 60_000 }, () => {
  let bench: ClusterBench;
  before(async () => {
    bench = await ClusterBench.installed('isolation');
  });
  after(() => bench.close());

  /** Runs a script in the container with the worker. Returns what it prints. */
  async function inWorker(pod: string, script: string): Promise<string> {
    const config = new KubeConfig();
    config.loadFromFile(bench.site.kubeconfig);
    const [out, errors] = [new PassThrough(), new PassThrough()];
    const printed = Promise.all([text(out), text(errors)]);
    const command = ['node', '--eval', script];
    const socket = await new Exec(config).exec(bench.namespace, pod, 'worker', command, out, errors, null, false);
    await once(socket as unknown as EventTarget, 'close');
    out.end();
    errors.end();
    const [stdout, stderr] = await printed;
    assert.notEqual(stdout, '', stderr);
    return stdout;
  }

  it('gets no other with its token, and a pod that replaces it continues it', async () => {
    const { workspace, site, cluster } = bench;
    const id = await workspace.launch(
      'greedy',
      steady(site, { tasks: 2, steps: 60, pods: { isolation: 'pod', count: 1 }, batch: { attempts: 1 } }),
    );
    const rowsNow = await workspace.waitForRows(id, (rows) => rows.some(({ progress }) => progress.steps > 0));
    const running = rowsNow.find(({ progress }) => progress.steps > 0);
    await until('its pod runs', async () => (await bench.workers(id)).length === 1);
    const [pod] = await bench.workers(id);
    assert.ok(running !== undefined && pod !== undefined);
    const { name } = pod.metadata;
    const refused = [
      `1008 This pod already got its rollout, ${running.rollout}.`,
      `1008 This pod already got its rollout, ${running.rollout}.`,
      '1008 The enrollment token of pods is accepted only with the UID of a pod.',
      `1008 There is no running pod ${name} of the batch with this UID.`,
    ];
    assert.deepEqual(JSON.parse(await inWorker(name, THIEF)), refused);
    const tampering = (await bench.infra(id)).filter((line) => line.startsWith('Tampering'));
    assert.equal(tampering.length, 1);
    assert.match(tampering[0] ?? '', new RegExp(`enrolled again as a pod that already got rollout ${running.rollout}`));

    const [server] = await cluster.list('Pod', { labels: selector(labels('server')) });
    await cluster.remove('Pod', server?.metadata.name ?? '');
    await workspace.waitForEvents(id, (events) =>
      events.some((event) => event.kind === 'infra' && event.data.what === 'server_back'),
    );
    assert.deepEqual(JSON.parse(await inWorker(name, THIEF)), refused, 'another server knows what the pod got');

    await cluster.remove('Pod', name);
    await until('it is replaced', async () => (await bench.workers(id)).some(({ metadata }) => metadata.name !== name));
    const rows = await bench.assertSettledOnce(id, 2);
    assert.ok(
      rows.every((row) => row.try === 1 && row.progress.passed === true),
      'none started over',
    );
    assert.equal(new Set(rows.map(({ worker }) => worker)).size, 2);
    assert.ok(rows.every(({ worker }) => worker !== name));
  });
});
