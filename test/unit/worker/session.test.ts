import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { WebSocket } from 'ws';
import { WebSocketServer } from 'ws';
import type { StudioError } from '../../../src/common/errors.ts';
import type { ServerToWorker, WorkerFrame } from '../../../src/protocol/worker.ts';
import { WORKER_PROTOCOL } from '../../../src/protocol/worker.ts';
import { Outlet } from '../../../src/worker/outlet.ts';
import { ServerAddress } from '../../../src/worker/session/address.ts';
import { Session } from '../../../src/worker/session/session.ts';

/** A server that welcomes everybody, and the frames it received. */
class FakeServer {
  readonly server: WebSocketServer;
  readonly heard: WorkerFrame[] = [];
  socket: WebSocket | undefined;
  answersBeats = true;
  lease = 30;
  welcomes = 0;
  #listeners: (() => void)[] = [];

  private constructor() {
    this.server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    this.server.on('connection', (socket) => {
      this.socket = socket;
      socket.on('message', (data) => {
        const frame = JSON.parse((data as Buffer).toString()) as WorkerFrame;
        this.heard.push(frame);
        if (frame.type === 'hello')
          this.send({
            type: 'welcome',
            announced: { rev: 0, endpoints: [] },
            session: 's1',
            token: `t${++this.welcomes}`,
            clock: 1,
            beat_s: 0.2,
            lease_s: this.lease,
            keep: [],
            drop: [],
          });
        if (frame.type === 'beat' && this.answersBeats)
          this.send({ type: 'beat', clock: 2, permits: { e: 3 }, announced: { rev: 0, endpoints: [] } });
        for (const listener of this.#listeners) listener();
      });
    });
  }

  static async start(): Promise<FakeServer> {
    const server = new FakeServer();
    await once(server.server, 'listening');
    return server;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  send(frame: ServerToWorker): void {
    this.socket?.send(JSON.stringify(frame));
  }

  async until(reached: () => boolean): Promise<void> {
    while (!reached()) await new Promise<void>((resolve) => (this.#listeners = [resolve]));
  }

  async close(): Promise<void> {
    for (const client of this.server.clients) client.terminate();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

interface OpenSession {
  session: Session;
  frames: ServerToWorker[];
  fences: boolean[];
  gone: Promise<StudioError>;
  welcomes: () => number;
  welcomed: Promise<void>;
}

function open(
  port: number,
  options: { others?: number[]; discovery?: string; giveUpSeconds?: number; fenceSeconds?: number } = {},
): OpenSession {
  const frames: ServerToWorker[] = [];
  const fences: boolean[] = [];
  let welcomes = 0;
  const skews = [3_600_000];
  const gone = Promise.withResolvers<StudioError>();
  const welcomed = Promise.withResolvers<undefined>();
  const { others = [], discovery, ...rest } = options;
  const session = new Session(
    {
      address: new ServerAddress(
        [port, ...others].map((one) => `http://127.0.0.1:${one}/`),
        discovery,
      ),
      token: 't',
      worker: 'w',
      slots: 4,
      outlet: new Outlet({}),
      ...rest,
    },
    {
      rollouts: () => [{ rollout: 'r1', epoch: 1, last: 9 }],
      load: () => ({ running: 1, held: 0, waiting: 0, rss: 1 }),
      skew: () => skews.shift(),
      welcome: () => {
        welcomes++;
        welcomed.resolve(undefined);
      },
      frame: (frame) => frames.push(frame),
      fenced: (on) => fences.push(on),
      lostForGood: gone.resolve,
    },
  );
  return {
    session,
    frames,
    fences,
    gone: gone.promise,
    welcomes: () => welcomes,
    welcomed: welcomed.promise.then(() => undefined),
  };
}

describe('Session', () => {
  it('says hello, beats, and passes frames on', async () => {
    const server = await FakeServer.start();
    const { session, frames, welcomed } = open(server.port);
    assert.equal(session.send({ type: 'lease', want: 1 }), false, 'not before the welcome');
    await welcomed;
    await server.until(() => server.heard.filter((frame) => frame.type === 'beat').length >= 2);
    assert.deepEqual(server.heard[0], {
      type: 'hello',
      protocol: WORKER_PROTOCOL,
      worker: 'w',
      slots: 4,
      rollouts: [{ rollout: 'r1', epoch: 1, last: 9 }],
    });
    assert.deepEqual(
      server.heard.flatMap((frame) => (frame.type === 'beat' ? [frame.skew_ms] : [])).slice(0, 2),
      [3_600_000, undefined],
      'that its clock is off is said once',
    );
    assert.equal(session.send({ type: 'lease', want: 1 }), true);
    await server.until(() => server.heard.at(-1)?.type === 'lease');
    assert.deepEqual(frames[0], { type: 'beat', clock: 2, permits: { e: 3 }, announced: { rev: 0, endpoints: [] } });
    await session.bye(500);
    assert.equal(server.heard.at(-1)?.type, 'bye');
    await server.close();
  });

  it('goes to the next server of its store when the current one is gone, and wraps around', async () => {
    const [one, dead, two] = [await FakeServer.start(), await FakeServer.start(), await FakeServer.start()];
    const { session, welcomed } = open(one.port, { others: [dead.port, two.port] });
    await dead.close();
    await welcomed;
    one.socket?.terminate();
    await two.until(() => two.heard.some((frame) => frame.type === 'hello'));
    two.socket?.terminate();
    await one.until(() => one.heard.filter((frame) => frame.type === 'hello').length === 2);
    await session.bye(500);
    await Promise.all([one.close(), two.close()]);
  });

  it('returns to a server that restarted at another port', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'rs-session-'));
    const discovery = path.join(folder, 'server.json');
    const first = await FakeServer.start();
    const { session, welcomes, welcomed } = open(first.port, { discovery });
    await welcomed;
    await first.close();
    const second = await FakeServer.start();
    await writeFile(
      discovery,
      JSON.stringify({
        pid: 1,
        host: '127.0.0.1',
        port: second.port,
        token: 'a',
        read_token: 'b',
        protocol: WORKER_PROTOCOL,
        product: 'x',
        started_at: 1,
      }),
    );
    await second.until(() => second.heard.some((frame) => frame.type === 'beat'));
    assert.equal(welcomes(), 2);
    const [hello] = second.heard;
    assert.equal(hello?.type === 'hello' && hello.resume, 't1', 'the token of its last session');
    assert.ok(
      hello?.type === 'hello' && hello.away_ms !== undefined && hello.away_ms < 60_000,
      'it says that it was here before',
    );
    await session.bye(500);
    await second.close();
    await rm(folder, { recursive: true });
  });

  it('pauses when the server falls silent, and continues when it responds again', async () => {
    const server = await FakeServer.start();
    const { session, fences, welcomed } = open(server.port, { fenceSeconds: 0.5 });
    await welcomed;
    server.answersBeats = false;
    while (fences.length < 1) await new Promise((resolve) => setTimeout(resolve, 20));
    server.answersBeats = true;
    while (fences.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual(fences, [true, false]);
    await session.bye(500);
    await server.close();
  });

  it('gives up when the server is gone for too long', async () => {
    const server = await FakeServer.start();
    server.lease = 1;
    const { gone, welcomed } = open(server.port);
    await welcomed;
    await server.close();
    const error = await gone;
    assert.equal(error.code, 'unavailable');
    assert.match(error.message, /unreachable for/);
  });

  it('gives up immediately when it is refused', async () => {
    const server = await FakeServer.start();
    server.server.removeAllListeners('connection');
    server.server.on('connection', (socket) => socket.close(1008, 'wrong protocol'));
    const { gone } = open(server.port);
    assert.match((await gone).message, /wrong protocol/);
    await server.close();
  });
});
