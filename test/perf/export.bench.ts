/**
 * Token groups of 3,200 attempts with 10 model calls each, written by `rollout export`: on this machine, and through a
 * connection whose round trips take 20 ms. Bounds: 10 s and 300 MB; 30 s. `npm run bench export`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import path from 'node:path';
import { connect } from '../../src/client/connect.ts';
import { cpuSeconds, peakRss } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { table } from './support/table.ts';
import { importTokens } from './support/tokenAttempts.ts';

const SHAPE = { tasks: 200, attempts: 16, calls: 10 };
const ROUND_TRIP_MS = 20;
const cli = path.resolve(import.meta.dirname, '../../dist/cli.mjs');

interface Measured {
  readonly seconds: number;
  /** User and system time of the command: its duration on a machine that does nothing else. */
  readonly cpu: number;
  readonly megabytes: number;
  readonly size: number;
}

/** Runs `rollout export` and measures it until it ends. */
async function exported(store: string, batch: string, format: string, file: string): Promise<Measured> {
  const began = performance.now();
  const args = ['export', batch, '--to', format, '--out', file, '--store', store];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', cli, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let [peak, cpu] = [0, 0];
  const watch = setInterval(() => {
    if (child.pid === undefined || child.exitCode !== null) return;
    peak = Math.max(peak, peakRss(child.pid));
    cpu = Math.max(cpu, cpuSeconds(child.pid));
  }, 50);
  const [code] = (await once(child, 'close')) as [number | null];
  clearInterval(watch);
  if (code !== 0) throw new Error(`rollout export ended with ${String(code)}`);
  return { seconds: (performance.now() - began) / 1000, cpu, megabytes: peak / 1e6, size: statSync(file).size };
}

/** Passes bytes on after half of the round trip, in their order. */
function delayed(from: Socket, to: Socket): void {
  from.on('data', (bytes) => setTimeout(() => to.write(bytes), ROUND_TRIP_MS / 2));
  from.on('close', () => setTimeout(() => to.destroy(), ROUND_TRIP_MS / 2));
  from.on('error', () => to.destroy());
}

const bench = new ProductBench();
const proxy = createServer((client) => {
  const server = dial(port, '127.0.0.1');
  delayed(client, server);
  delayed(server, client);
});
let port = 0;
try {
  mkdirSync(bench.workspace, { recursive: true });
  await bench.rollout(['batches', '--json']);
  const { api } = await connect({ store: bench.store });
  const began = performance.now();
  const batch = await importTokens(api, SHAPE);
  await bench.packed();
  console.log(`Imported in ${((performance.now() - began) / 1000).toFixed(0)} s.`);

  const address = JSON.parse(readFileSync(path.join(bench.store, 'server.json'), 'utf8')) as { port: number };
  port = address.port;
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const far = path.join(bench.folder, 'far');
  mkdirSync(far, { mode: 0o700 });
  const farFile = { ...address, port: (proxy.address() as AddressInfo).port };
  writeFileSync(path.join(far, 'server.json'), JSON.stringify(farFile), { mode: 0o600 });

  const out = path.join(bench.folder, 'out.jsonl');
  const rows: (readonly [string, Measured, number])[] = [
    ['groups', await exported(bench.store, batch, 'groups', out), 10],
    ['groups, 20 ms away', await exported(far, batch, 'groups', out), 30],
    ['parquet', await exported(bench.store, batch, 'parquet', out), 10],
    ['verl', await exported(bench.store, batch, 'verl', out), 10],
    ['sft-openai', await exported(bench.store, batch, 'sft-openai', out), 10],
  ];
  console.log(
    table(
      [
        ['export', 'seconds', 'bound', 'CPU', 'peak MB', 'bound', 'file MB'],
        ...rows.map(([name, { seconds, cpu, megabytes, size }, bound]) => [
          name,
          seconds.toFixed(1),
          String(bound),
          cpu.toFixed(1),
          megabytes.toFixed(0),
          '300',
          (size / 1e6).toFixed(0),
        ]),
      ],
      [1, 2, 3, 4, 5, 6],
    ),
  );
  if (rows.slice(0, 2).some(([, { seconds, megabytes }, bound]) => seconds > bound || megabytes > 300))
    process.exitCode = 1;
} finally {
  proxy.close();
  await bench.close();
}
