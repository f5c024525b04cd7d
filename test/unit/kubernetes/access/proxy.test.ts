/** A cluster and a server behind a corporate proxy: a real CONNECT proxy, and names that only it can resolve. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { nodeTransport } from '../../../../src/client/nodeTransport.ts';
import { wsSocket } from '../../../../src/client/subscribe.ts';
import { askServer } from '../../../../src/client/targets/askServer.ts';
import { StudioError } from '../../../../src/common/errors.ts';
import { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import { openForward } from '../../../../src/kubernetes/access/portForward.ts';
import { setOutbound } from '../../../../src/net/outbound.ts';
import { certificateFor } from '../../../support/certificate.ts';
import { type ConnectProxyOptions, connectProxy } from '../../../support/connectProxy.ts';
import { type KubeApi, startKubeApi } from '../../../support/kubeApi.ts';
import { servePortForwards } from '../../../support/kubeForward.ts';
import { tlsProxy } from '../../../support/tlsProxy.ts';

const NAME = 'api.corp.test';

/** Writes a kubeconfig for the name of the API server. Returns its path. */
async function kubeconfig(api: KubeApi, cluster: Readonly<Record<string, unknown>>): Promise<string> {
  const file = path.join(path.dirname(api.kubeconfig), 'corporate.json');
  const text = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'corp', cluster }],
    users: [{ name: 'ann', user: { token: 'token-of-ann' } }],
    contexts: [{ name: 'test', context: { cluster: 'corp', user: 'ann', namespace: 'ns' } }],
  };
  await writeFile(file, JSON.stringify(text));
  return file;
}

/** An API server with TLS that is reached at a name through a proxy only. */
async function corporate(options: ConnectProxyOptions = {}, certificateName = NAME) {
  const api = await startKubeApi(({ path: at }) => ({
    body: at === '/version' ? { gitVersion: 'v1.34.4' } : { metadata: { name: 'x' } },
  }));
  const { ca, ...certificate } = certificateFor(certificateName);
  const front = await tlsProxy(() => Number(new URL(api.url).port), certificate);
  const proxy = await connectProxy({ port: () => Number(new URL(front.url).port), ...options });
  return {
    api,
    proxy,
    ca,
    cluster: { server: `https://${NAME}:6443`, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await front[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}

const versionOf = async (file: string): Promise<string> => {
  const cluster = await Cluster.open({ kubeconfig: file });
  try {
    return (await cluster.version()).git;
  } finally {
    cluster.close();
  }
};

describe('the API server behind a proxy', () => {
  afterEach(() => {
    delete process.env['HTTPS_PROXY'];
    delete process.env['NO_PROXY'];
    setOutbound({});
  });

  it('the API server and its port-forwards are reached through the proxy of the environment', async () => {
    await using corp = await corporate();
    const pod = http.createServer((_, response) => response.end('from the pod')).listen(0, '127.0.0.1');
    await once(pod, 'listening');
    servePortForwards(corp.api, new Set(['p1']));
    process.env['HTTPS_PROXY'] = corp.proxy.url;
    setOutbound({});
    const file = await kubeconfig(corp.api, corp.cluster);
    const cluster = await Cluster.open({ kubeconfig: file });

    assert.equal((await cluster.version()).git, 'v1.34.4');
    await cluster.version();
    assert.deepEqual(corp.proxy.targets, [`${NAME}:6443`], 'one connection is kept');
    const forward = await openForward(cluster, () => Promise.resolve('p1'), (pod.address() as AddressInfo).port);
    assert.equal(await (await fetch(forward.url)).text(), 'from the pod');
    forward.close();
    cluster.close();
    pod.closeAllConnections();
    pod.close();
  });

  it('a kubeconfig names its own proxy, name, and authority', async () => {
    await using corp = await corporate({}, 'other.corp.test');
    const cluster = { ...corp.cluster, 'proxy-url': corp.proxy.url };
    await assert.rejects(versionOf(await kubeconfig(corp.api, cluster)), /ERR_TLS_CERT_ALTNAME_INVALID/);
    const named = { ...cluster, 'tls-server-name': 'other.corp.test' };
    process.env['NO_PROXY'] = '*';
    assert.equal(await versionOf(await kubeconfig(corp.api, named)), 'v1.34.4');
    const { 'certificate-authority-data': _, ...unknown } = named;
    await assert.rejects(versionOf(await kubeconfig(corp.api, unknown)), (error) =>
      StudioError.is(error, 'unavailable'),
    );
  });

  it('settings of the editor come before the environment, and exceptions hold', async () => {
    await using corp = await corporate({ credentials: 'ann:p@ss' });
    const file = await kubeconfig(corp.api, corp.cluster);
    process.env['HTTPS_PROXY'] = 'http://127.0.0.1:1';
    const address = new URL(corp.proxy.url);
    setOutbound({ proxy: `http://ann:p%40ss@${address.host}` });
    assert.equal(await versionOf(file), 'v1.34.4');
    setOutbound({ proxy: corp.proxy.url, noProxy: ['.corp.test'] });
    await assert.rejects(versionOf(file), /api\.corp\.test/, 'nothing else resolves the name');
    setOutbound({ direct: true });
    await assert.rejects(versionOf(file), /api\.corp\.test/);
  });

  it('errors say what the proxy did, and what to do', async () => {
    const of = (message: RegExp) => (error: unknown) =>
      StudioError.is(error, 'unavailable') && message.test(`${error.message} ${error.hint ?? ''}`);
    for (const [options, message] of [
      [{ credentials: 'ann:secret' }, /requires a user name and a password.*USER:PASSWORD/],
      [{ refuse: 403 }, /refuses to connect to api\.corp\.test:\d+ \(HTTP status 403\).*NO_PROXY/],
    ] as const) {
      await using corp = await corporate(options);
      setOutbound({ proxy: corp.proxy.url });
      await assert.rejects(versionOf(await kubeconfig(corp.api, corp.cluster)), of(message));
      await assert.rejects(
        askServer({ url: `https://${NAME}`, token: 't', ca: corp.ca }, { update: '', token: '' }),
        of(message),
        'also for a server at a URL',
      );
    }
    await using corp = await corporate();
    setOutbound({ proxy: corp.api.url });
    await assert.rejects(
      versionOf(await kubeconfig(corp.api, corp.cluster)),
      of(/is not an HTTP proxy|Cannot connect to the proxy/),
    );
    setOutbound({ proxy: 'http://127.0.0.1:1' });
    await assert.rejects(
      versionOf(await kubeconfig(corp.api, corp.cluster)),
      of(/Cannot connect to the proxy 127\.0\.0\.1:1/),
    );
  });

  it('a server at a URL, and its WebSocket, are reached through the proxy', async () => {
    await using corp = await corporate();
    let upgrades = 0;
    corp.api.server.on('upgrade', (_, socket) => {
      upgrades++;
      socket.end('HTTP/1.1 401 No\r\n\r\n');
    });
    setOutbound({ proxy: corp.proxy.url });
    const address = { url: `https://${NAME}`, token: 't', ca: corp.ca };
    const reply = await nodeTransport(() => address).request({ method: 'GET', path: '/version' });
    assert.match(await reply.text(), /v1\.34\.4/);
    await new Promise<void>((resolve) => {
      wsSocket(() => address)({ open: () => undefined, message: () => undefined, close: () => resolve() });
    });
    assert.equal(upgrades, 1);
    assert.deepEqual(corp.proxy.targets, [`${NAME}:443`, `${NAME}:443`]);
  });
});
