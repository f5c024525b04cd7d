/**
 * Events of 400 bytes from 8 worker connections over their WebSockets, acknowledged after fsync, without clients and
 * with a client that follows all 8 streams; against a bare SQLite loop with the same durability.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import WebSocket from 'ws';
import { PROTOCOL } from '../../src/protocol/worker.ts';
import type { FakeWorker } from '../support/fakeWorker.ts';
import { plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';
import { logLines } from '../support/trajectories.ts';
import { cpuSeconds } from './support/processes.ts';
import { median, rounds, spread, table } from './support/table.ts';

const CONNECTIONS = 8;
const FRAMES = 100;
const EVENTS = 100;
const BYTES = 400;
/** Frames that a worker sends before the first of them is acknowledged. */
const WINDOW = 4;
const ALL = CONNECTIONS * FRAMES * EVENTS;

interface Result {
  perSecond: number;
  cpu: number;
}

/** One writer, one row per event, a commit for every 100 of them. */
function bare(): Result {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-bench-'));
  try {
    const database = new DatabaseSync(path.join(folder, 'bare.db'));
    database.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE event (stream INTEGER, seq INTEGER, ' +
        'body TEXT, PRIMARY KEY (stream, seq)) WITHOUT ROWID',
    );
    const insert = database.prepare('INSERT INTO event VALUES (?, ?, ?)');
    const bodies = logLines(1, EVENTS, BYTES).map((event) => JSON.stringify(event));
    const [cpu, began] = [process.cpuUsage(), performance.now()];
    for (let frame = 0; frame < FRAMES; frame++) {
      for (let stream = 1; stream <= CONNECTIONS; stream++) {
        database.exec('BEGIN');
        bodies.forEach((body, index) => insert.run(stream, frame * EVENTS + index + 1, body));
        database.exec('COMMIT');
      }
    }
    const ms = performance.now() - began;
    const used = process.cpuUsage(cpu);
    database.close();
    return { perSecond: (ALL / ms) * 1000, cpu: (used.user + used.system) / ALL };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function product(followed: boolean): Promise<Result> {
  await using store = new TestStore();
  const server = await store.start();
  const batch = await server.submit(plainSubmission({ attempts: 1 }), tasks(CONNECTIONS));
  const writers = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const worker = await server.worker(batch);
      const [grant] = await worker.lease(1);
      if (grant === undefined) throw new Error('no grant');
      const frames = Array.from({ length: FRAMES }, (_, frame) =>
        JSON.stringify({
          type: 'append',
          rollout: grant.rollout,
          epoch: grant.epoch,
          from: frame * EVENTS + 1,
          events: logLines(frame * EVENTS + 1, EVENTS, BYTES),
        }),
      );
      return { worker, rollout: grant.rollout, frames };
    }),
  );
  const arrived = followed
    ? await follow(
        server,
        writers.map(({ rollout }) => rollout),
      )
    : undefined;
  const { pid } = server.file;
  const [cpu, began] = [cpuSeconds(pid), performance.now()];
  await Promise.all(writers.map(({ worker, frames }) => write(worker, frames)));
  const ms = performance.now() - began;
  const used = cpuSeconds(pid) - cpu;
  await arrived?.all; // a follower gets all of it, however far behind
  return { perSecond: (ALL / ms) * 1000, cpu: (used * 1e6) / ALL };
}

/** Sends all frames within the window. Resolves when the last one is acknowledged. */
function write(worker: FakeWorker, frames: readonly string[]): Promise<void> {
  const { socket } = worker.frames;
  let sent = 0;
  return new Promise((resolve, reject) => {
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { type: string; to: number };
      if (frame.type === 'refuse') reject(new Error(data.toString()));
      if (frame.type !== 'ack') return;
      if (frame.to === FRAMES * EVENTS) resolve();
      while (sent < FRAMES && sent < frame.to / EVENTS + WINDOW) socket.send(frames[sent++] ?? '');
    });
    while (sent < WINDOW) socket.send(frames[sent++] ?? '');
  });
}

/** One client on all streams. Returns a promise of the last event of each, once every subscription is open. */
async function follow(server: TestServer, streams: readonly string[]): Promise<{ all: Promise<undefined> }> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/client`, {
    headers: { authorization: `Bearer ${server.file.token}` },
  });
  const heads = new Set<string>();
  const done = new Set<string>();
  const [stands, ended] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  socket.on('open', () => socket.send(JSON.stringify({ type: 'hello', protocol: PROTOCOL })));
  socket.on('error', ended.reject);
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as { type: string; sub: string; events: { seq: number }[] };
    if (frame.type === 'welcome')
      for (const stream of streams) socket.send(JSON.stringify({ type: 'subscribe', sub: stream, stream, after: 0 }));
    if (frame.type === 'head' && heads.add(frame.sub).size === streams.length) stands.resolve(undefined);
    if (frame.type !== 'events') return;
    const cursor = frame.events.at(-1)?.seq ?? 0;
    socket.send(JSON.stringify({ type: 'seen', sub: frame.sub, cursor }));
    if (cursor === FRAMES * EVENTS && done.add(frame.sub).size === streams.length) {
      socket.close();
      ended.resolve(undefined);
    }
  });
  await stands.promise;
  return { all: ended.promise };
}

const kinds = [
  ['bare SQLite loop', bare],
  ['server, nobody looks', () => product(false)],
  ['server, one client on all streams', () => product(true)],
] as const;
const results = new Map(kinds.map(([name]) => [name as string, [] as Result[]]));
for (let round = 0; round < rounds(3); round++) {
  for (const [name, run] of kinds) results.get(name)?.push(await run());
}
const base = median(results.get(kinds[0][0])?.map(({ perSecond }) => perSecond) ?? []);
const rows = [['what', 'events/s (min / median / max)', 'of the bare loop', 'CPU µs per event']];
for (const [name, list] of results) {
  const speeds = list.map(({ perSecond }) => perSecond);
  rows.push([
    name,
    spread(speeds, 0),
    (median(speeds) / base).toFixed(2),
    median(list.map(({ cpu }) => cpu)).toFixed(1),
  ]);
}
console.log(table(rows, [1, 2, 3]));
console.log(
  `${ALL} events of ${BYTES} bytes from ${CONNECTIONS} connections, ${EVENTS} in a frame, ${WINDOW} frames ` +
    'ahead. Bound: ≥ 20,000/s with nobody looking, ≥ 10,000/s with one.',
);
