import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connectTarget, type TargetConnection } from '../../../../src/client/targets/connectTarget.ts';
import { deferred } from '../../../../src/common/abort.ts';
import { PRODUCT } from '../../../../src/common/product.ts';
import { labels, NAMES } from '../../../../src/kubernetes/names.ts';
import { PROTOCOL } from '../../../../src/protocol/worker.ts';
import { type KubeApi, startKubeApi } from '../../../support/kubeApi.ts';
import { servePortForwards } from '../../../support/kubeForward.ts';

const READY = [
  { type: 'Ready', status: 'True' },
  { type: 'ContainersReady', status: 'True' },
];
/** The state of nodes and pods after an outage of the API server, and after the loss of a node. */
const UNHEARD = [
  { type: 'Ready', status: 'False' },
  { type: 'ContainersReady', status: 'True' },
];
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a server in a cluster', () => {
  let server: http.Server;
  let api: KubeApi;
  let pods: unknown[] = [];
  const tokens: (string | undefined)[] = [];
  before(async () => {
    server = http
      .createServer((request, response) => {
        tokens.push(request.headers.authorization);
        response.end(JSON.stringify({ product: PRODUCT, protocol: PROTOCOL }));
      })
      .listen(0, '127.0.0.1');
    await once(server, 'listening');
    api = await startKubeApi(({ path }) => {
      if (path.endsWith('/pods'))
        return { body: { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: pods } };
      if (path.endsWith(`secrets/${NAMES.tokens}`))
        return { body: { metadata: { name: NAMES.tokens }, data: { full: base64('f'), read: base64('r') } } };
      return { body: { metadata: { name: NAMES.server } } };
    });
    servePortForwards(api, new Set(['well', 'heard-of-no-more']));
  });
  after(async () => {
    await api[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });

  const pod = (name: string, conditions: unknown): unknown => ({
    metadata: { name, labels: labels('server') },
    status: { phase: 'Running', conditions },
    spec: {
      nodeName: 'n7',
      containers: [
        { name: 'server', ports: [{ name: 'http', containerPort: (server.address() as AddressInfo).port }] },
      ],
    },
  });
  const connect = (onNotice?: (text: string) => void): Promise<TargetConnection> =>
    connectTarget(
      'k',
      { context: 'test', kubeconfig: api.kubeconfig },
      { env: {}, ...(onNotice === undefined ? {} : { onNotice }) },
    );

  it('is reached through a forward, with the token of its Secret', async () => {
    pods = [pod('well', READY)];
    const connection = await connect();
    assert.deepEqual(
      [tokens.at(-1), connection.address().token, connection.readAddress().token],
      ['Bearer f', 'f', 'r'],
    );
    connection.close();
  });

  it('is reached while the cluster has not heard from its node for a while', async () => {
    pods = [pod('heard-of-no-more', UNHEARD)];
    const notices: string[] = [];
    const connection = await connect((text) => notices.push(text));
    assert.deepEqual(notices, []);
    await connection.reconnect();
    connection.close();
  });

  it('is waited for when its node is lost', async () => {
    pods = [pod('lost', UNHEARD)];
    const notice = deferred<string>();
    const connecting = connect((text) => notice.resolve(text));
    assert.match(
      await notice.promise,
      /^Waiting for the server of target k: Node n7, which runs the server’s pod, does not respond/,
    );
    pods.push(pod('well', READY));
    (await connecting).close();
  });
});
