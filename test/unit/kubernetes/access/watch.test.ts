import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { deferred } from '../../../../src/common/abort.ts';
import { StudioError } from '../../../../src/common/errors.ts';
import { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import { watchList } from '../../../../src/kubernetes/access/watch.ts';
import { type KubeApi, type KubeReply, startKubeApi, statusReply } from '../../../support/kubeApi.ts';

const pod = (name: string, version = '1') => ({ metadata: { name, uid: `uid-${name}`, resourceVersion: version } });
const list = (version: string, ...names: string[]): KubeReply => ({
  body: { metadata: { resourceVersion: version }, items: names.map((name) => pod(name)) },
});
const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;
/** A watch that sends these lines and then ends, or stays open. */
const says =
  (text: string, open = false) =>
  (response: ServerResponse): void => {
    response.writeHead(200);
    response.write(text);
    if (!open) response.end();
  };

/** Plays lists and watches one after the other; the script is over when the last watch is requested. */
async function played(
  lists: KubeReply[],
  watches: KubeReply[],
  turn?: (api: KubeApi) => void,
): Promise<{ reports: string[]; api: KubeApi; versions: (string | null)[]; error: unknown }> {
  const over = new AbortController();
  const reports: string[] = [];
  const versions: (string | null)[] = [];
  const api = await startKubeApi(({ query }) => {
    if (query.get('watch') === null) return lists.shift() ?? statusReply(500, 'InternalError', 'no more lists');
    versions.push(query.get('resourceVersion'));
    const next = watches.shift();
    if (next !== undefined) return next;
    // Unfinished: nothing more is to come.
    over.abort();
    return says('', true);
  });
  turn?.(api);
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig });
  const error: unknown = await watchList(
    cluster,
    'Pod',
    { labels: 'a=b' },
    {
      signal: over.signal,
      onList: (items) => void reports.push(`list ${items.map((item) => item.metadata.name).join(',')}`),
      onEvent: (type, object) => void reports.push(`${type} ${object.metadata.name}`),
      onGone: (object) => void reports.push(`gone ${object.metadata.name}`),
      onTrouble: (trouble) => void reports.push(trouble === undefined ? 'fixed' : `trouble ${trouble.code}`),
    },
  ).catch((reason: unknown) => reason);
  await api[Symbol.asyncDispose]();
  return { reports, api, versions, error };
}

test('a new watch continues at the last version of the one before, bookmarks included', async () => {
  const { reports, versions, api } = await played(
    [list('10', 'a')],
    [
      says(line('ADDED', pod('b', '11')) + line('MODIFIED', pod('a', '12'))),
      says(line('DELETED', pod('a', '13')) + line('BOOKMARK', { metadata: { resourceVersion: '20' } })),
    ],
  );
  assert.deepEqual(reports, ['list a', 'ADDED b', 'MODIFIED a', 'DELETED a']);
  assert.deepEqual(versions, ['10', '12', '20']);
  assert.equal(api.requests[1]?.query.get('labelSelector'), 'a=b');
});

for (const [what, reply] of [
  ['a 410 response', statusReply(410, 'Expired', 'too old resource version')],
  ['a 410 ERROR line', says(line('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' }))],
  ['an unreadable line', says('{"type":"ADDED","obj\n')],
] as const) {
  test(`${what} leads to a new list, which reports what vanished`, async () => {
    const { reports, versions } = await played([list('10', 'a', 'b'), list('30', 'b', 'c')], [reply]);
    assert.deepEqual(reports, ['list a,b', 'gone a', 'list b,c']);
    assert.deepEqual(versions, ['10', '30']);
  });
}

test('an object that was deleted in a watch is not reported as vanished', async () => {
  const { reports } = await played(
    [list('10', 'a'), list('30')],
    [says(line('DELETED', pod('a', '11'))), statusReply(410, 'Expired', 'old')],
  );
  assert.deepEqual(reports, ['list a', 'DELETED a', 'list ']);
});

test('an outage of the API server is reported once, a cut connection is not', async () => {
  const cut = (response: ServerResponse): void => {
    response.writeHead(200);
    response.write(`${line('ADDED', pod('b', '11'))}{"type":"ADD`, () => response.destroy());
  };
  const { reports, versions } = await played(
    [
      statusReply(503, 'ServiceUnavailable', 'starting'),
      statusReply(503, 'ServiceUnavailable', 'starting'),
      list('10', 'a'),
    ],
    [cut],
  );
  assert.deepEqual(reports, ['trouble unavailable', 'list a', 'fixed', 'ADDED b']);
  assert.deepEqual(versions, ['10', '11'], 'what came before the cut is not reported twice');
});

test('an error that another attempt cannot fix ends the watch', async () => {
  const { error } = await played(
    [
      statusReply(
        403,
        'Forbidden',
        'pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace "ns"',
      ),
    ],
    [],
  );
  assert.ok(StudioError.is(error, 'forbidden'), String(error));
});

test('an error of a handler is not swallowed', async () => {
  await using api = await startKubeApi(() => list('1', 'a'));
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig });
  const watching = watchList(
    cluster,
    'Pod',
    {},
    { signal: new AbortController().signal, onList: () => Promise.reject(new Error('mine')), onEvent: () => undefined },
  );
  await assert.rejects(watching, /mine/);
});

test('a silent watch ends after the time it may run, and another continues', async (t) => {
  const second = deferred<undefined>();
  let watches = 0;
  await using api = await startKubeApi(({ query }) => {
    if (query.get('watch') === null) return list('5');
    if (++watches === 2) second.resolve(undefined);
    // The head, and then nothing.
    return (response) => {
      response.writeHead(200);
      response.flushHeaders();
    };
  });
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig });
  const over = new AbortController();
  t.after(() => over.abort());
  const watching = watchList(
    cluster,
    'Pod',
    {},
    { signal: over.signal, onList: () => undefined, onEvent: () => undefined, watchSeconds: 0.2, silentMs: 100 },
  );
  await second.promise;
  over.abort();
  await watching;
  assert.equal(api.requests.at(-1)?.query.get('resourceVersion'), '5');
});
