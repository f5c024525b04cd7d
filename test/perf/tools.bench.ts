/**
 * CPU of a tool call of a module in its thread, with the process of that thread, without and in the sandbox, against
 * bare messages to a thread and back.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { openTools } from '../../src/tools/hosts.ts';
import { callTool, type ToolBench, toolBench } from '../support/tools.ts';
import { cpuSeconds } from './support/processes.ts';
import { median, rounds, spread, table } from './support/table.ts';

const WARM = 500;
/** Enough for a clock that counts hundredths of a second. */
const CALLS = 20_000;

/** In µs, with the processes that a bench started. */
async function cpuPerCall(call: (n: number) => Promise<unknown>, bench?: ToolBench): Promise<number> {
  for (let n = 0; n < WARM; n++) await call(n);
  const pids = [process.pid, ...withDescendants([...(bench?.groups ?? [])])];
  const used = (): number => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
  const before = used();
  for (let n = 0; n < CALLS; n++) await call(n);
  return ((used() - before) * 1e6) / CALLS;
}

/** In a sandbox, the process of modules is a child of the program that entered it. */
function withDescendants(pids: readonly number[]): number[] {
  const all = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const found = new Set(pids);
  for (let before = -1; found.size > before; ) {
    before = found.size;
    for (const [pid = 0, parent = 0] of all) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

const echo = new Worker(
  "const { parentPort } = require('node:worker_threads'); parentPort.on('message', ({ a }) => " +
    'parentPort.postMessage({ sum: a + 2 }));',
  { eval: true },
);
const bare: number[] = [];
const product = { off: [] as number[], on: [] as number[] };
try {
  for (let round = 0; round < rounds(3); round++) {
    bare.push(
      await cpuPerCall(async (n) => {
        const answer = once(echo, 'message');
        echo.postMessage({ a: n });
        await answer;
      }),
    );
    for (const sandbox of ['off', 'on'] as const) {
      const bench = await toolBench({ sandbox });
      const tools = await openTools([{ kind: 'module', module: await bench.module('hostile.ts') }], bench.environment);
      try {
        product[sandbox].push(await cpuPerCall((n) => callTool(tools, 'fine', { a: n }), bench));
      } finally {
        await tools.close();
        await bench.close();
      }
    }
  }
} finally {
  await echo.terminate();
}
const ratio = (times: readonly number[]): string => (median(times) / median(bare)).toFixed(2);
console.log(
  table(
    [
      ['one call after the other', `CPU µs per call (${rounds(3)} runs: min / median / max)`, 'ratio'],
      ['messages to a thread', spread(bare, 1), '1.00'],
      ['a tool of a module', spread(product.off, 1), ratio(product.off)],
      ['a tool of a module, in the sandbox', spread(product.on, 1), ratio(product.on)],
    ],
    [1, 2],
  ),
);
