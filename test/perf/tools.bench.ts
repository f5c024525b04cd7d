/**
 * CPU of a tool call of a module in its thread, with the process of that thread, against bare messages to a thread and
 * back.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { openTools } from '../../src/tools/hosts.ts';
import { callTool, toolBench } from '../support/tools.ts';
import { cpuSeconds } from './support/processes.ts';
import { median, rounds, spread, table } from './support/table.ts';

const WARM = 500;
/** Enough for a clock that counts hundredths of a second. */
const CALLS = 20_000;

/** In µs. */
async function cpuPerCall(call: (n: number) => Promise<unknown>): Promise<number> {
  for (let n = 0; n < WARM; n++) await call(n);
  const before = usedSeconds();
  for (let n = 0; n < CALLS; n++) await call(n);
  return ((usedSeconds() - before) * 1e6) / CALLS;
}

/** CPU seconds of this process and of the process of modules. */
function usedSeconds(): number {
  return [process.pid, ...bench.groups].reduce((sum, pid) => sum + cpuSeconds(pid), 0);
}

const echo = new Worker(
  "const { parentPort } = require('node:worker_threads'); parentPort.on('message', ({ a }) => " +
    'parentPort.postMessage({ sum: a + 2 }));',
  { eval: true },
);
const bench = await toolBench();
const tools = await openTools([{ kind: 'module', module: await bench.module('hostile.ts') }], bench.environment);
const bare: number[] = [];
const product: number[] = [];
try {
  for (let round = 0; round < rounds(3); round++) {
    bare.push(
      await cpuPerCall(async (n) => {
        const answer = once(echo, 'message');
        echo.postMessage({ a: n });
        await answer;
      }),
    );
    product.push(await cpuPerCall((n) => callTool(tools, 'fine', { a: n })));
  }
} finally {
  await tools.close();
  await bench.close();
  await echo.terminate();
}
console.log(
  table(
    [
      ['one call after the other', `CPU µs per call (${rounds(3)} runs: min / median / max)`, 'ratio'],
      ['messages to a thread', spread(bare, 1), '1.00'],
      ['a tool of a module', spread(product, 1), (median(product) / median(bare)).toFixed(2)],
    ],
    [1, 2],
  ),
);
