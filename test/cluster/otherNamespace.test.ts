/** What a second installation, in another namespace of the same cluster, reaches of the first one: nothing. */
import assert from 'node:assert/strict';
import { request } from 'node:https';
import { after, before, describe, it } from 'node:test';
import type { KubeObject } from '../../src/kubernetes/access/objects.ts';
import { LABEL, NAMES, SERVER_PORT } from '../../src/kubernetes/names.ts';
import { WORKER_FILE } from '../../src/kubernetes/programs/workerBootstrap.ts';
import { type End, isAllowed } from '../support/networkRules.ts';
import { Accounts, mayDo } from './support/accounts.ts';
import { steady } from './support/batches.ts';
import { ClusterBench, until } from './support/clusterBench.ts';

interface Site {
  readonly bench: ClusterBench;
  readonly batch: string;
  readonly rollout: string;
  /** The tokens of its clients and of the workers of its batch. */
  readonly tokens: readonly string[];
  readonly port: number;
}

describe('a second namespace', { timeout: 10 * 60_000 }, () => {
  const benches: ClusterBench[] = [];
  let first: Site;
  let second: Site;
  before(async () => {
    // One after another: both look for free ports.
    for (const name of ['first', 'second']) benches.push(await ClusterBench.installed(name));
    [first, second] = (await Promise.all(benches.map(running))) as [Site, Site];
  });
  after(async () => {
    for (const bench of benches) await bench.close();
  });

  /** Starts a batch, and reads what its namespace has. */
  async function running(bench: ClusterBench): Promise<Site> {
    const { workspace, site, cluster } = bench;
    const batch = await workspace.launch('steady', steady(site, { tasks: 2, steps: 500, pods: { count: 1 } }));
    const rows = await workspace.waitForRows(batch, (all) => all.some(({ progress }) => progress.steps > 0));
    const valuesOf = async (name: string): Promise<Record<string, string>> => {
      const secret = (await cluster.get('Secret', name)) ?? assert.fail(name);
      const data = (secret['data'] ?? {}) as Record<string, string>;
      return Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
      );
    };
    const worker = (await valuesOf(`rollout-${batch}`))[WORKER_FILE] ?? assert.fail('no configuration');
    const { token, server } = JSON.parse(worker) as { token: string; server: string };
    const { full = '', read = '' } = await valuesOf(NAMES.tokens);
    const rollout = rows.find(({ progress }) => progress.steps > 0)?.rollout ?? assert.fail('nothing runs');
    return { bench, batch, rollout, tokens: [full, read, token], port: Number(new URL(server).port) };
  }

  /** Returns the status of an answer of a server. */
  function status(port: number, method: string, at: string, token: string, upgrade = false): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        ...(upgrade
          ? {
              connection: 'Upgrade',
              upgrade: 'websocket',
              'sec-websocket-version': '13',
              'sec-websocket-key': Buffer.alloc(16).toString('base64'),
            }
          : {}),
      };
      const asked = request({ host: '127.0.0.1', port, method, path: at, headers, rejectUnauthorized: false });
      asked.on('response', (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      asked.on('upgrade', (_, socket) => {
        socket.destroy();
        resolve(101);
      });
      asked.on('error', reject);
      asked.end();
    });
  }

  it('has accounts that may do nothing in the first one', async () => {
    const accounts = new Accounts(second.bench);
    try {
      for (const name of [NAMES.server, NAMES.worker]) {
        const account = await accounts.open(name);
        assert.deepEqual(await mayDo(account, first.bench.namespace), [], name);
      }
      assert.notDeepEqual(await mayDo(await accounts.open(NAMES.server), second.bench.namespace), []);
    } finally {
      accounts.close();
    }
  });

  it('has tokens that the first server refuses', async (test) => {
    if (first.bench.site.kit === undefined) {
      test.skip('Pods do not share the network of this machine.');
      return;
    }
    const { batch, rollout, port } = first;
    const requests: readonly (readonly [method: string, at: string, upgrade?: boolean])[] = [
      ['GET', '/v1/batches'],
      ['GET', `/v1/batches/${batch}`],
      ['GET', `/v1/batches/${batch}/tasks`],
      ['GET', `/v1/streams/${rollout}/events`],
      ['POST', `/v1/rollouts/${rollout}/commands`],
      ['POST', `/v1/batches/${batch}/worker_token`],
      ['GET', '/v1/worker', true],
      ['GET', '/v1/client', true],
    ];
    for (const [method, at, upgrade] of requests)
      for (const token of second.tokens)
        assert.ok([401, 403].includes(await status(port, method, at, token, upgrade)), `${method} ${at}`);
    const [own = ''] = first.tokens;
    assert.equal(await status(port, 'GET', `/v1/batches/${batch}`, own), 200, 'its own token is accepted');
  });

  it('has pods that reach neither the server nor the workers of the first one', async () => {
    const policies = [
      ...(await first.bench.cluster.list('NetworkPolicy')),
      ...(await second.bench.cluster.list('NetworkPolicy')),
    ];
    const ends = async ({ bench, batch }: Site): Promise<{ server: End; worker: End }> => {
      const pods = await bench.cluster.list('Pod');
      const end = (pod: KubeObject | undefined): End => ({
        namespace: bench.namespace,
        labels: (pod ?? assert.fail('no pod')).metadata.labels ?? {},
      });
      await until('its pod runs', async () => (await bench.workers(batch)).length > 0);
      return {
        server: end(pods.find(({ metadata }) => metadata.labels?.[LABEL.component] === 'server')),
        worker: end((await bench.workers(batch))[0]),
      };
    };
    const [own, other] = [await ends(first), await ends(second)];
    const ports = [first.bench.site.port ?? SERVER_PORT, first.port, 80];
    for (const from of [other.server, other.worker])
      for (const to of [own.server, own.worker])
        for (const port of ports) assert.ok(!isAllowed(policies, from, to, port), JSON.stringify([from, to, port]));
    assert.ok(isAllowed(policies, own.worker, own.server, first.port), 'its own workers reach the server');
  });
});
