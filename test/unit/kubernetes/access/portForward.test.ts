import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { StudioError } from '../../../../src/common/errors.ts';
import { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import { openForward } from '../../../../src/kubernetes/access/portForward.ts';
import { startKubeApi } from '../../../support/kubeApi.ts';
import { servePortForwards } from '../../../support/kubeForward.ts';

async function listening(answer: http.RequestListener): Promise<{ port: number } & AsyncDisposable> {
  const server = http.createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('every connection carries any amount of data both ways', async () => {
  await using pod = await listening((request, response) => void request.pipe(response));
  await using api = await startKubeApi();
  const seen: string[] = [];
  servePortForwards(api, new Set(['p1']), seen);
  let found = 0;
  const forward = await openForward(
    await Cluster.open({ kubeconfig: api.kubeconfig }),
    () => Promise.resolve(`p${String(++found)}`),
    pod.port,
  );
  const big = randomBytes(24 << 20);
  const sha = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
  const answers = await Promise.all(
    [big, Buffer.from('small'), big].map(
      async (body) => new Uint8Array(await (await fetch(forward.url, { method: 'POST', body })).arrayBuffer()),
    ),
  );
  assert.deepEqual(answers.map(sha), [big, Buffer.from('small'), big].map(sha));
  assert.equal(found, 1, 'the pod is looked for once');
  assert.ok(seen.length >= 3);
  forward.close();
  await assert.rejects(fetch(forward.url));
});

test('the next connection finds the pod that replaced another', async () => {
  await using pod = await listening((_, response) => response.setHeader('connection', 'close').end('hello'));
  await using api = await startKubeApi();
  const pods = new Set(['old']);
  const open = servePortForwards(api, pods);
  const notices: (string | undefined)[] = [];
  const forward = await openForward(
    await Cluster.open({ kubeconfig: api.kubeconfig }),
    () => Promise.resolve([...pods][0] ?? 'none'),
    pod.port,
    { onNotice: (error: StudioError | undefined) => notices.push(error?.message) },
  );
  assert.equal(await (await fetch(forward.url)).text(), 'hello');
  pods.clear();
  pods.add('new');
  for (const socket of open) socket.terminate();
  assert.equal(await (await fetch(forward.url)).text(), 'hello');
  assert.deepEqual(notices, []);
  pods.clear();
  await assert.rejects(fetch(forward.url));
  await assert.rejects(fetch(forward.url));
  pods.add('third');
  assert.equal(await (await fetch(forward.url)).text(), 'hello');
  assert.deepEqual(
    notices,
    ['Not found: pods/portforward none in namespace ns.', undefined],
    'reported once, and that it is over',
  );
  forward.close();
});

test('a closed port, or an API server that is down, ends a connection at once', async () => {
  const closed = await listening(() => undefined);
  await closed[Symbol.asyncDispose]();
  const api = await startKubeApi();
  servePortForwards(api, new Set(['p']));
  const notices: (string | undefined)[] = [];
  const clearNotices = (): void => void notices.splice(0);
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig });
  const over = new AbortController();
  const forward = await openForward(cluster, () => Promise.resolve('p'), closed.port, {
    signal: over.signal,
    onNotice: (error) => notices.push(error?.message),
  });
  await assert.rejects(fetch(forward.url));
  assert.match(notices[0] ?? '', /The pod does not respond on port \d+: error forwarding port \d+: .*ECONNREFUSED/);
  clearNotices();
  await api[Symbol.asyncDispose]();
  const away = await openForward(cluster, () => Promise.resolve('p'), closed.port, {
    signal: over.signal,
    onNotice: (error) => notices.push(error?.message),
  });
  await assert.rejects(fetch(away.url));
  assert.match(notices[0] ?? '', /Cannot reach .*: nothing listens on that port/);
  over.abort();
  await assert.rejects(fetch(forward.url));
});
