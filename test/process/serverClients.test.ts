/** What clients see: subscriptions, pages, blobs, forks, and authorization. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import WebSocket from 'ws';
import { newId } from '../../src/common/ids.ts';
import { UNSEEN_BYTES } from '../../src/protocol/client.ts';
import { endingEvents, logEvent, openingEvents } from '../support/fakeWorker.ts';
import { blobOf, plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';

describe('clients', () => {
  const store = new TestStore();
  let server: TestServer;
  before(async () => {
    server = await store.start();
  });
  after(() => store[Symbol.asyncDispose]());

  test('tasks are listed with the beginnings of their texts', async () => {
    const long = 'why '.repeat(5_000);
    const all = tasks(120).map((task) => ({ ...task, question: long, world: { state: { text: long } } }));
    const batch = await server.submit(plainSubmission({ attempts: 1 }), all);
    const first = await server.api.tasks(batch, { limit: 100, excerpt: 20 });
    assert.deepEqual([first.tasks.length, first.next], [100, 99]);
    assert.ok(JSON.stringify(first).length < 20_000);
    assert.equal(first.tasks[0]?.question, `${long.slice(0, 20)}…`);
    const rest = await server.api.tasks(batch, { limit: 100, excerpt: 20, after: 99 });
    assert.deepEqual([rest.tasks.map(({ id }) => id), rest.next], [all.slice(100).map(({ id }) => id), undefined]);
    assert.equal((await server.api.tasks(batch, { limit: 1 })).tasks[0]?.question, long);
  });

  test('a rollout is followed from any cursor, across a restart of the server', async () => {
    await using own = new TestStore();
    let current = await own.start();
    const batch = await current.submit(plainSubmission({ attempts: 1 }), tasks(1));
    let worker = await current.worker(batch, { name: 'w' });
    const [grant] = await worker.lease(1);
    await worker.appendAcked(grant!, openingEvents(grant!));
    let client = await current.client();
    client.subscribe('a', grant!.rollout);
    assert.deepEqual(
      (await client.eventsUntil('a', 2)).map((event) => event.seq),
      [1, 2],
    );
    assert.equal((await client.frames.next('head')).cursor, 2);
    await worker.appendAcked(grant!, [logEvent(3, 'live')]);
    assert.deepEqual(
      (await client.eventsUntil('a', 3)).map((event) => event.seq),
      [3],
    );

    await current.kill('SIGKILL');
    current = await own.start();
    client = await current.client();
    client.subscribe('a', grant!.rollout, 3);
    assert.equal((await client.frames.next('head')).cursor, 3);
    // The tokens of the worker are valid at the new server, and so is its epoch.
    worker = await current.worker(batch, {
      name: 'w',
      resume: worker.welcome.token,
      rollouts: [{ rollout: grant!.rollout, epoch: grant!.epoch, last: 3 }],
    });
    assert.deepEqual(worker.welcome.keep, [{ rollout: grant!.rollout, durable: 3 }]);
    await worker.appendAcked(grant!, endingEvents(4, { passed: true }));
    assert.deepEqual(
      (await client.eventsUntil('a', 6)).map((event) => event.kind),
      ['model.start', 'model.end', 'rollout.end'],
    );
    client.subscribe('past', grant!.rollout, 7);
    assert.equal((await client.frames.next('error', (frame) => frame.sub === 'past')).code, 'gone');
    client.subscribe('none', 'r404');
    assert.equal((await client.frames.next('error', (frame) => frame.sub === 'none')).code, 'gone');
  });

  test('a batch returns its events and the newest row of each rollout', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 2 }), tasks(2));
    const client = await server.client();
    client.subscribe('b', batch);
    const first = await client.frames.next('rows');
    assert.deepEqual(
      first.rows.map((row) => row.state),
      ['queued', 'queued', 'queued', 'queued'],
    );
    assert.equal((await client.frames.next('events')).events[0]!.kind, 'batch.start');
    const head = await client.frames.next('head');
    assert.deepEqual([head.cursor, head.rev], [1, first.rev]);
    const worker = await server.worker(batch);
    const grants = await worker.lease(4);
    for (const grant of grants) await worker.finish(grant, { passed: true });
    const states = new Map<string, string>();
    let rev = first.rev;
    while ([...states.values()].filter((state) => state === 'ended').length < 4) {
      const rows = await client.frames.next('rows');
      assert.ok(rows.rev > rev);
      rev = rows.rev;
      for (const row of rows.rows) states.set(row.rollout, row.state);
      client.send({ type: 'seen', sub: 'b', cursor: 0, rev });
    }
    const events = await client.frames.next('events', (frame) => frame.events.at(-1)!.kind === 'batch.end');
    // From a later cursor only changes are sent again.
    client.subscribe('later', batch, events.events.at(-1)!.seq, { after_rev: rev - 1 });
    assert.equal((await client.frames.next('rows', (frame) => frame.sub === 'later')).rows.length, 1);
    client.subscribe('past', batch, 0, { after_rev: rev + 1_000 });
    assert.equal((await client.frames.next('error', (frame) => frame.sub === 'past')).code, 'gone');
  });

  test('a client that does not acknowledge gets no more than its window', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 1 }), tasks(1));
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    await worker.appendAcked(grant!, openingEvents(grant!));
    const text = 'x'.repeat(50_000);
    const count = 60;
    for (let seq = 3; seq < 3 + count; seq += 10)
      await worker.appendAcked(
        grant!,
        Array.from({ length: 10 }, (_, index) => logEvent(seq + index, text)),
      );
    const client = await server.client();
    client.subscribe('slow', grant!.rollout);
    let bytes = 0;
    let cursor = 0;
    while (bytes < UNSEEN_BYTES) {
      const frame = await client.frames.next('events');
      bytes += JSON.stringify(frame.events).length;
      cursor = frame.events.at(-1)!.seq;
    }
    assert.ok(bytes < UNSEEN_BYTES * 1.5, `${bytes}`);
    // Another subscription of the same connection is not delayed by it, and proves that nothing more arrived.
    client.subscribe('other', batch);
    await client.frames.next('head', (frame) => frame.sub === 'other');
    assert.equal(client.frames.left('events').filter((frame) => frame.sub === 'slow').length, 0);
    client.send({ type: 'seen', sub: 'slow', cursor });
    const rest = await client.eventsUntil('slow', count + 2);
    assert.equal(rest[0]!.seq, cursor + 1);
    assert.equal((await client.frames.next('head', (frame) => frame.sub === 'slow')).cursor, count + 2);
    const pages: number[] = [];
    for await (const page of server.api.allEvents(grant!.rollout)) pages.push(page.length);
    assert.ok(pages.length > 1);
    assert.equal(
      pages.reduce((sum, page) => sum + page, 0),
      count + 2,
    );
  });

  test('live text arrives only while somebody watches, after the events that are already open', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 1 }), tasks(1));
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    const delta = (offset: number, text: string) =>
      worker.send({ type: 'delta', rollout: grant!.rollout, epoch: grant!.epoch, span: 3, offset, text });
    await worker.appendAcked(grant!, [...openingEvents(grant!), endingEvents(3, { passed: true })[0]!]);
    const client = await server.client();
    client.subscribe('one', grant!.rollout, 0, { deltas: true });
    const watch = await worker.frames.next('control');
    assert.deepEqual([watch.verb, watch.args], ['watch', { on: true }]);
    assert.deepEqual((await client.frames.next('open')).spans, []);
    delta(0, 'It is ');
    assert.deepEqual(await client.frames.next('delta'), {
      type: 'delta',
      sub: 'one',
      span: 3,
      offset: 0,
      text: 'It is ',
    });
    client.subscribe('two', grant!.rollout, 3, { deltas: true });
    assert.deepEqual((await client.frames.next('open')).spans, [{ span: 3, text: 'It is ' }]);
    delta(6, 'due.');
    assert.equal((await client.frames.next('delta', (frame) => frame.sub === 'two')).text, 'due.');
    await worker.appendAcked(grant!, [endingEvents(3, { passed: true })[1]!]);
    client.subscribe('three', grant!.rollout, 0, { deltas: true });
    assert.deepEqual((await client.frames.next('open')).spans, []);
    client.close();
    assert.deepEqual((await worker.frames.next('control')).args, { on: false });
    await server.api.commandBatch(batch, { command: `end-${batch}`, verb: 'cancel' });
  });

  test('a fork shares the events before its cut, and requires confirmation for irreversible calls', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 1 }), tasks(1));
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    const { rollout } = grant!;
    const at = Date.now();
    await worker.appendAcked(grant!, [
      ...openingEvents(grant!),
      {
        seq: 3,
        v: 1,
        at,
        kind: 'message',
        data: { m: 1, role: 'user', parts: [{ type: 'text', content: 'Go.' }], origin: 'given' },
      },
      {
        seq: 4,
        v: 1,
        at,
        kind: 'tool.start',
        data: { call: 'c1', name: 'send_letter', arguments: {}, effect: 'irreversible' },
      },
      { seq: 5, v: 1, at, kind: 'tool.end', span: 4, data: { status: 'ok', source: 'live' } },
      ...endingEvents(6, { passed: false }),
    ]);
    const request = { rollout, attempts: 2, edit: [{ of: { m: 1 }, path: '/parts/0/content', value: 'Stop.' }] };
    await assert.rejects(
      server.api.fork({ ...request, batch: newId('b'), seq: 3 }),
      (error: { code: string; details: unknown }) => {
        assert.deepEqual(
          [error.code, error.details],
          ['conflict', { irreversible: [{ seq: 4, name: 'send_letter', call: 'c1' }] }],
        );
        return true;
      },
    );
    await assert.rejects(server.api.fork({ ...request, batch: newId('b'), seq: 99 }), { code: 'conflict' });
    await assert.rejects(
      server.api.fork({ ...request, batch: newId('b'), seq: 5, edit: [{ of: { m: 7 }, path: '', value: 1 }] }),
      /Message 7/,
    );
    const fork = newId('b');
    await server.api.fork({ ...request, batch: fork, seq: 5 });
    assert.deepEqual(await server.api.fork({ ...request, batch: fork, seq: 5 }), { batch: fork, warnings: [] });
    const forked = await server.worker(fork);
    const [child] = await forked.lease(1);
    assert.deepEqual(
      [child!.lineage, child!.last, child!.fork, child!.edits, child!.task.id],
      [[{ rollout, to: 5 }], 5, { rollout, seq: 5 }, request.edit, 't1'],
    );
    await forked.appendAcked(child!, openingEvents(child!));
    const { token } = forked.welcome;
    const page = (await (await server.fetch(`/v1/streams/${child!.rollout}/events`, { token })).json()) as {
      events: { seq: number; kind: string }[];
      last: number;
    };
    assert.deepEqual([page.events.map((event) => event.seq), page.last], [[1, 2, 3, 4, 5, 6, 7], 7]);
    await forked.appendAcked(child!, endingEvents(8, { passed: true }));
    // A fork of the fork, cut before its own events, is one of the ancestor.
    const grand = newId('b');
    await server.api.fork({ batch: grand, rollout: child!.rollout, seq: 3, attempts: 1, accept_irreversible: true });
    const [grandchild] = await (await server.worker(grand)).lease(1);
    assert.deepEqual(grandchild!.lineage, [{ rollout, to: 3 }]);
    const client = await server.client();
    client.subscribe('f', child!.rollout, 4);
    assert.deepEqual(
      (await client.eventsUntil('f', 10)).map((event) => event.seq),
      [5, 6, 7, 8, 9, 10],
    );
  });

  test('finished streams are imported and counted', async () => {
    const batch = newId('b');
    const { sha, bytes } = blobOf('a file of another program');
    const request = { batch, submission: sha, open: false, tasks: tasks(1), imported: { name: 'theirs', attempts: 1 } };
    await assert.rejects(server.api.createBatch(request), { code: 'conflict', details: { missing: [sha] } });
    await server.api.putBlob(sha, bytes);
    await server.api.createBatch(request);
    const rollout = newId('r');
    const events = [
      openingEvents({ batch, task: { id: 't1' }, attempt: 1, try: 1, last: 0 } as never)[0]!,
      ...endingEvents(2, { passed: true }),
    ];
    await assert.rejects(
      server.api.importRollouts(batch, [{ rollout, task: 't1', attempt: 1, events: [{ ...events[0]!, seq: 5 }] }]),
      /Expected event 1 of/,
    );
    await server.api.importRollouts(batch, [{ rollout, task: 't1', attempt: 1, events }]);
    await server.api.importRollouts(batch, [{ rollout, task: 't1', attempt: 1, events }]);
    const row = await server.api.batch(batch);
    assert.deepEqual([row.name, row.state, row.imported, row.counts.passed], ['theirs', 'ended', true, 1]);
    await assert.rejects(server.api.commandBatch(batch, { command: `retry-${batch}`, verb: 'retry' }), {
      code: 'conflict',
    });
    await assert.rejects(server.api.fork({ batch: newId('b'), rollout, seq: 1, attempts: 1 }), { code: 'unsupported' });
  });

  test('the texts of many blobs come in pages, in order', async () => {
    const blobs = [1, 2, 3, 4, 5, 6].map((n) => blobOf(String(n).repeat(n === 6 ? 9_000_000 : 1_500_000)));
    for (const { sha, bytes } of blobs) await server.api.putBlob(sha, bytes);
    const shas = [...blobs, ...blobs].map(({ sha }) => sha);
    const texts = await server.api.blobTexts(shas);
    assert.deepEqual(
      texts.map((text) => [text[0], text.length]),
      [...blobs, ...blobs].map(({ bytes }) => [String.fromCharCode(bytes[0] ?? 0), bytes.length]),
    );
    const page = await server.fetch('/v1/blobs/texts', { method: 'POST', body: JSON.stringify({ shas }) });
    assert.equal(((await page.json()) as { texts: string[] }).texts.length, 2, 'a page has a limit');
    assert.deepEqual(await server.api.blobTexts([]), []);
    await assert.rejects(server.api.blobTexts([shas[0] ?? '', blobOf('other').sha]), { code: 'not_found' });
    await assert.rejects(server.api.blobTexts(['../server.json']), { code: 'usage' });
  });

  test('blobs come whole, in part, or not at all', async () => {
    const { sha, bytes } = blobOf('0123456789');
    await server.api.putBlob(sha, bytes);
    await server.api.putBlob(sha, bytes);
    const part = await server.fetch(`/v1/blobs/${sha}`, { headers: { range: 'bytes=2-4' } });
    assert.deepEqual([part.status, part.headers.get('content-range'), await part.text()], [206, 'bytes 2-4/10', '234']);
    assert.equal(await (await server.fetch(`/v1/blobs/${sha}`, { headers: { range: 'bytes=-3' } })).text(), '789');
    assert.equal((await server.fetch(`/v1/blobs/${sha}`, { headers: { range: 'bytes=10-' } })).status, 416);
    const head = await server.fetch(`/v1/blobs/${sha}`, { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, '10', '']);
    assert.equal((await server.fetch(`/v1/blobs/${blobOf('other').sha}`, { method: 'HEAD' })).status, 404);
    assert.equal(
      (await server.fetch(`/v1/blobs/${blobOf('other').sha}`, { method: 'PUT', body: 'not it' })).status,
      400,
    );
    assert.equal((await server.fetch('/v1/blobs/..%2Fserver.json')).status, 400);
  });

  test('tokens decide who may read and who may control', async () => {
    const batch = await server.submit(plainSubmission(), tasks(1));
    const other = await server.submit(plainSubmission({ name: 'other' }), tasks(1));
    const worker = await server.workerToken(batch);
    const { token: session } = (await server.worker(batch)).welcome;
    const read = server.file.read_token;
    const status = async (pathname: string, init: RequestInit & { token?: string } = {}): Promise<number> =>
      (await server.fetch(pathname, init)).status;
    assert.equal(await status('/v1/batches', { token: '' }), 401);
    assert.equal(await status('/v1/batches', { token: 'a'.repeat(64) }), 401);
    assert.equal(await status('/healthz', { token: '' }), 200);
    assert.equal(await status('/readyz', { token: '' }), 200);
    assert.equal(await status('/v1/batches', { token: read }), 200);
    assert.equal(await status(`/v1/batches/${batch}/commands`, { token: read, method: 'POST', body: '{}' }), 403);
    for (const token of [worker, session]) {
      assert.equal(await status(`/v1/batches/${batch}/secrets`, { token }), 404, 'nobody reads secrets from a server');
      assert.equal(await status(`/v1/streams/${batch}/events`, { token }), 403);
      assert.equal(await status('/v1/batches', { token }), 403);
      assert.equal(await status('/v1/batches', { token: token.replace(batch, other) }), 401);
    }
    assert.equal(await status('/demo/v1/models', { token: '' }), 401);
    assert.equal(await status('/demo/v1/models', { token: worker }), 403);
    assert.equal(await status('/demo/v1/models', { token: session }), 200);
    assert.equal(await status('/v1/batches', { headers: { origin: 'https://example.org' } }), 403);
    assert.equal(await status('/v1/batches', { headers: { origin: server.url } }), 200);
    assert.equal(
      await rawStatus(server.file.port, { host: 'rebound.example.org', authorization: `Bearer ${server.file.token}` }),
      403,
    );
    assert.equal(
      await rawStatus(server.file.port, {
        host: `localhost:${server.file.port}`,
        authorization: `Bearer ${server.file.token}`,
      }),
      200,
    );
    assert.equal(await rawStatus(server.file.port, { host: 'localhost', 'x-long': 'y'.repeat(40_000) }), 431);
    assert.equal(await status('/v1/batches', { method: 'POST', body: '{"batch":1}' }), 400);
    assert.equal(await status('/v1/batches', { method: 'POST', body: 'no json' }), 400);
    assert.equal(await status('/v1/nothing'), 404);
    assert.equal(await status('/v1/batches', { method: 'PUT', body: 'x' }), 400);

    for (const [pathname, headers, expected] of [
      ['/v1/client', { authorization: `Bearer ${worker}` }, 403],
      ['/v1/worker', { authorization: `Bearer ${server.file.token}` }, 403],
      ['/v1/client', {}, 401],
      ['/v1/client', { authorization: `Bearer ${read}`, origin: 'https://example.org' }, 403],
      ['/v1/other', { authorization: `Bearer ${read}` }, 404],
    ] as const)
      assert.equal(await upgradeStatus(`${server.url.replace('http', 'ws')}${pathname}`, headers), expected);

    // A browser's socket sends its token as a subprotocol; a reader may follow, and learns its scope.
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/client`, [`token.${read}`]);
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    socket.terminate();
    const reader = await server.client(read);
    assert.deepEqual(reader.welcome.you, { rights: ['read'] });
    // Frames have a size limit.
    reader.frames.send(JSON.stringify({ type: 'subscribe', sub: 'x'.repeat(100_000), stream: batch, after: 0 }));
    assert.equal((await reader.frames.closed).code, 1009);
    for (const id of [batch, other]) await server.api.commandBatch(id, { command: `end-${id}`, verb: 'cancel' });
  });
});

/** fetch does not let a test choose its Host. */
function rawStatus(port: number, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    http
      .get({ port, host: '127.0.0.1', path: '/v1/batches', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
      .on('error', reject);
  });
}

function upgradeStatus(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { headers });
    socket.on('error', () => undefined);
    socket.on('open', () => reject(new Error(`${url} was let in`)));
    socket.on('unexpected-response', (request, response) => {
      resolve(response.statusCode);
      request.destroy();
    });
  });
}
