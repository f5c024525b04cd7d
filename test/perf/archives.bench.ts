/**
 * How fast a store of about 300 MB is saved, restored, and copied by the command line, and how long requests of others
 * wait at the server in the meantime: `npm run bench archives`.
 */
import { randomBytes } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { connect } from '../../src/client/connect.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { Bench, end } from '../support/cli.ts';
import { event, openBatch, wholeRollout } from '../support/trajectories.ts';

const MEGABYTES = 300;
const ROLLOUTS = 3000;
const BATCHES = 6;
const PER_ROLLOUT = Math.round((MEGABYTES * 1e6) / ROLLOUTS / 2);

/** Half of a rollout is text that is compressed to about a tenth, the other half cannot be compressed. */
async function fill(store: Store): Promise<string[]> {
  const batches: string[] = [];
  for (let n = 0; n < BATCHES; n++) {
    const { batch, session } = await openBatch(store, ROLLOUTS / BATCHES, { attempts: 1 });
    for (const lease of await store.lease(session, ROLLOUTS / BATCHES)) {
      const whole = wholeRollout(1, lease, batch, { steps: 8 });
      const texts = [0, 1].flatMap(() => [
        randomBytes(PER_ROLLOUT * 0.37).toString('base64'),
        'the same words again '.repeat(PER_ROLLOUT / 42),
      ]);
      const logs = texts.map((text, index) => event(whole.length + index, 'log', { stream: 'out', text }));
      const events = [...whole.slice(0, -1), ...logs, { ...whole.at(-1)!, seq: whole.length + logs.length }];
      const result = await store.append({ rollout: lease.rollout, epoch: lease.epoch, from: 1, events });
      if (!result.ok) throw new Error(result.message);
    }
    await store.endSession(session, 'done');
    batches.push(batch);
  }
  await store.archive.copyPage(batches[0]!, undefined); // packs all streams
  return batches;
}

interface Measured {
  readonly seconds: number;
  readonly p50: number;
  readonly p95: number;
  readonly longest: number;
}

/** Runs a command while another client lists batches, one request after the other. */
async function during(store: string, work: () => Promise<unknown>): Promise<Measured> {
  const { api } = await connect({ store });
  const waits: number[] = [];
  let isRunning = true;
  const others = (async () => {
    while (isRunning) {
      const began = performance.now();
      await api.batches({ limit: 20 });
      waits.push(performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1000;
  isRunning = false;
  await others;
  waits.sort((a, b) => a - b);
  const at = (share: number): number => waits[Math.min(waits.length - 1, Math.floor(share * waits.length))] ?? 0;
  return { seconds, p50: at(0.5), p95: at(0.95), longest: at(1) };
}

const bench = new Bench({ where: [] });
try {
  const [source, target, copied] = ['source', 'target', 'copied'].map((name) => bench.path(name)) as [
    string,
    string,
    string,
  ];
  const filling = await openStore(source);
  const batches = await fill(filling);
  await filling.close();
  const file = bench.path('all.rollouts');
  const idle = await during(source, () => new Promise((resolve) => setTimeout(resolve, 3000)));
  const saved = await during(source, () => bench.json(['backup', file, '--store', source]));
  const { size } = await stat(file);
  const restored = await during(target, () => bench.json(['restore', file, '--store', target]));
  await end(bench.serverFile(target)!.pid);
  await rm(target, { recursive: true, force: true });
  // The server of the copy is reached like any other target.
  await connect({ store: copied });
  const there = bench.serverFile(copied)!;
  const env = { LAB_TOKEN: there.token };
  const url = `http://127.0.0.1:${there.port}`;
  await bench.run(['target', 'add', 'lab', '--url', url, '--token-env', 'LAB_TOKEN'], { env });
  const moved = await during(source, () => bench.json(['copy', ...batches, '--to', 'lab', '--store', source], { env }));
  await end(there.pid);
  await end(bench.serverFile(source)!.pid);
  const megabytes = size / 1e6;
  const row = (what: string, { seconds, p50, p95, longest }: Measured, speed = true) => ({
    what,
    MB: Math.round(megabytes),
    s: seconds.toFixed(1),
    'MB/s': speed ? (megabytes / seconds).toFixed(1) : '',
    'list batches ms p50': p50.toFixed(1),
    p95: p95.toFixed(1),
    longest: longest.toFixed(0),
  });
  console.table([
    row('nothing', idle, false),
    row('backup, verified', saved),
    row('restore', restored),
    row('copy of all batches', moved),
  ]);
} finally {
  await bench.close();
}
