/** Requests of a page reach a real server through the extension's relay, and responses come back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect } from '../../src/client/connect.ts';
import { Emitter, Observable } from '../../src/common/emitter.ts';
import { sha256Hex } from '../../src/common/hash.ts';
import { isPageRequest, Relay, type RelayServer } from '../../src/host/pages/relay.ts';
import { follow, type OpenSocket, type SocketEvents } from '../../src/protocol/follow.ts';
import { type HostToPage, hostToPage, type PageToHost, type ServerState } from '../../src/protocol/page.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { logEvent, openingEvents } from '../support/fakeWorker.ts';
import { plainSubmission, TestStore, tasks } from '../support/rolloutServer.ts';

/** The extension's connection to the server: attaches, never starts. */
class Link implements RelayServer {
  readonly state = new Observable<ServerState>({ state: 'ok' });
  readonly #connected = new Emitter<Connection>();
  readonly connected = this.#connected.event;
  readonly #store: string;
  connects = 0;

  constructor(store: string) {
    this.#store = store;
  }

  connection(options: { readonly signal?: AbortSignal } = {}): Promise<Connection> {
    this.connects += 1;
    return connect({ store: this.#store, start: false, ...options });
  }

  async startedAgain(): Promise<void> {
    this.#connected.fire(await this.connection());
  }
}

/** A page's side of the messages. */
class Page {
  readonly relay: Relay;
  readonly got: HostToPage[] = [];
  readonly others: PageToHost[] = [];
  readonly strange: string[] = [];
  readonly #messages = new Emitter<HostToPage>();
  readonly #sockets = new Map<number, SocketEvents>();
  #last = 0;

  constructor(server: RelayServer) {
    this.relay = new Relay({
      server,
      post: (raw) => {
        const message = hostToPage.parse(structuredClone(raw));
        this.got.push(message);
        if (message.type === 'socket') this.#socket(message.id, message.what);
        if (message.type === 'message') this.#sockets.get(message.id)?.message(message.text);
        this.#messages.fire(message);
      },
      other: (message) => void this.others.push(message),
      invalid: (why) => void this.strange.push(why),
    });
  }

  send(message: PageToHost): void {
    this.relay.take(structuredClone(message));
  }

  next(matches: (message: HostToPage) => boolean): Promise<HostToPage> {
    return new Promise((resolve) => {
      const listener = this.#messages.event((message) => {
        if (!matches(message)) return;
        listener.dispose();
        resolve(message);
      });
    });
  }

  request(request: Omit<Extract<PageToHost, { type: 'request' }>, 'type' | 'id'>): Promise<HostToPage> {
    const id = ++this.#last;
    const answer = this.next((message) => (message.type === 'reply' || message.type === 'failed') && message.id === id);
    this.send({ type: 'request', id, ...request });
    return answer;
  }

  readonly openSocket: OpenSocket = (events) => {
    const id = ++this.#last;
    this.#sockets.set(id, events);
    this.send({ type: 'socket', id, what: 'open' });
    return {
      send: (text) => this.send({ type: 'send', id, text }),
      close: () => {
        if (!this.#sockets.has(id)) return;
        this.send({ type: 'socket', id, what: 'close' });
        queueMicrotask(() => this.#socket(id, 'close'));
      },
    };
  };

  #socket(id: number, what: 'open' | 'close'): void {
    const events = this.#sockets.get(id);
    if (what === 'open') events?.open();
    else {
      this.#sockets.delete(id);
      events?.close();
    }
  }
}

test('requests reach the server with its token, but only its API, with the protocol’s methods', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const batch = await server.submit(plainSubmission(), tasks(2));
  const link = new Link(store.folder);
  const page = new Page(link);
  try {
    const found = await page.request({ method: 'GET', path: `/v1/batches/${batch}` });
    assert.ok(found.type === 'reply', JSON.stringify(found));
    assert.equal(found.status, 200);
    assert.equal((JSON.parse(found.text ?? '') as { batch: string }).batch, batch);

    const missing = await page.request({ method: 'GET', path: '/v1/batches/b0000000000000none' });
    assert.ok(missing.type === 'reply');
    assert.equal(missing.status, 404, 'a refusal of the server is an answer');

    const note = JSON.stringify({ command: 'c1', verb: 'pause', by: 'page' });
    const paused = await page.request({ method: 'POST', path: `/v1/batches/${batch}/commands`, body: note });
    assert.equal(paused.type === 'reply' && paused.status, 200, JSON.stringify(paused));
    assert.equal((await server.api.batch(batch)).state, 'paused');

    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const sha = sha256Hex(bytes);
    await server.api.putBlob(sha, bytes);
    const blob = await page.request({ method: 'GET', path: `/v1/blobs/${sha}`, bytes: true });
    assert.deepEqual(blob.type === 'reply' && blob.bytes, bytes);

    const before = link.connects;
    const outside = await page.request({ method: 'GET', path: '/v1/../demo/metrics' });
    assert.equal(outside.type === 'failed' && outside.code, 'forbidden');
    assert.equal(link.connects, before, 'the server never heard of it');
    for (const path of ['/v1/../view/', '/v1/%2e%2e/view', '/v1\\..\\view', '/v1/a b', '//host/v1/'])
      assert.equal(isPageRequest('GET', path), false, path);
    for (const [method, path] of [
      ['POST', `/v1/batches/${batch}/worker_token`],
      ['POST', '/v1/tickets'],
      ['POST', '/v1/batches'],
      ['POST', `/v1/batches/${batch}/tasks`],
      ['POST', `/v1/batches/${batch}/import`],
      ['POST', '/v1/gc'],
      ['GET', `/v1/programs/${sha}`],
      ['GET', '/v1/batches/x/../../gc'],
      ['GET', `/v1/batches/${batch}/commands`],
    ] as const) {
      const refused = await page.request({ method, path, ...(method === 'POST' ? { body: '{}' } : {}) });
      assert.equal(refused.type === 'failed' && refused.code, 'forbidden', `${method} ${path}`);
    }
    assert.equal(link.connects, before, 'the server never heard of them');
    for (const path of ['/v1/server', '/v1/batches?limit=2', `/v1/batches/${batch}/tasks?limit=1000&excerpt=9`])
      assert.equal(isPageRequest('GET', path), true, path);

    page.relay.take({ type: 'request', id: 99, method: 'PUT', path: `/v1/batches/${batch}` });
    page.relay.take({ type: 'request', id: 99, method: 'GET', path: 'http://127.0.0.1:1/v1/server' });
    page.relay.take('nonsense');
    assert.equal(page.strange.length, 3);
    assert.equal(JSON.stringify(page.got).includes(server.file.token), false, 'the page never sees the token');

    page.send({ type: 'ready' });
    assert.deepEqual(page.others, [{ type: 'ready' }]);
    link.state.set({ state: 'lost', text: 'gone' });
    assert.deepEqual(page.got.at(-1), { type: 'server', server: { state: 'lost', text: 'gone' } });
  } finally {
    page.relay.dispose();
  }
});

test('a page follows a rollout across a killed server: every event once, continuing from its cursor', async () => {
  await using store = new TestStore();
  let server = await store.start();
  const batch = await server.submit(plainSubmission({ attempts: 1 }), tasks(1));
  const worker = await server.worker(batch, { name: 'first' });
  const [grant] = await worker.lease(1);
  assert.ok(grant !== undefined);
  await worker.appendAcked(grant, openingEvents(grant));
  const link = new Link(store.folder);
  const page = new Page(link);
  const stop = new AbortController();
  const events: TraceEvent[] = [];
  const losses: boolean[] = [];
  const seen = new Emitter<number>();
  const until = (seq: number): Promise<void> =>
    new Promise((resolve) => {
      if ((events.at(-1)?.seq ?? 0) >= seq) {
        resolve();
        return;
      }
      const listener = seen.event((last) => {
        if (last < seq) return;
        listener.dispose();
        resolve();
      });
    });
  const following = follow(
    page.openSocket,
    { stream: grant.rollout },
    {
      events: (more) => {
        events.push(...more);
        seen.fire(events.at(-1)?.seq ?? 0);
      },
      lost: (lost) => void losses.push(lost),
    },
    stop.signal,
  );
  try {
    const { last } = (await server.api.rollout(grant.rollout)).row;
    await until(last);

    const gone = page.next((message) => message.type === 'socket' && message.what === 'close');
    await server.kill('SIGKILL');
    await gone;
    const lost = await page.request({ method: 'GET', path: `/v1/rollouts/${grant.rollout}` });
    assert.equal(lost.type === 'failed' && lost.code, 'unavailable');

    server = await store.start();
    const again = await server.worker(batch, {
      name: 'first',
      resume: worker.welcome.token,
      rollouts: [{ rollout: grant.rollout, epoch: grant.epoch, last }],
    });
    await link.startedAgain();
    const end = last + 1;
    await again.appendAcked({ rollout: grant.rollout, epoch: grant.epoch }, [logEvent(end, 'after the restart')]);
    await until(end);
    assert.deepEqual(
      events.map((event) => event.seq),
      Array.from({ length: end }, (_, index) => index + 1),
    );
    assert.deepEqual(losses, [true, false]);
  } finally {
    stop.abort();
    await following;
    page.relay.dispose();
  }
});

test('a request that a page cancels is never answered, and a closed page leaves nothing behind', async () => {
  await using store = new TestStore();
  const server = await store.start();
  await server.submit(plainSubmission(), tasks(1));
  const page = new Page(new Link(store.folder));
  page.send({ type: 'request', id: 900, method: 'GET', path: '/v1/batches' });
  page.send({ type: 'cancel', id: 900 });
  const second = await page.request({ method: 'GET', path: '/v1/batches' });
  assert.equal(second.type, 'reply');
  assert.equal(
    page.got.some((message) => 'id' in message && message.id === 900),
    false,
  );

  const opened = page.next((message) => message.type === 'socket' && message.what === 'open');
  page.send({ type: 'socket', id: 50, what: 'open' });
  await opened;
  page.send({ type: 'request', id: 51, method: 'GET', path: '/v1/server' });
  page.relay.dispose();
  const { length } = page.got;
  page.send({ type: 'request', id: 52, method: 'GET', path: '/v1/server' });
  // The server responds to others; none of it reaches the closed page.
  await server.api.server();
  assert.equal(page.got.length, length);
});
