/**
 * What the sandbox costs: opening one, the first calls of rollouts, and further calls of the terminal, against
 * calls without it. CPU is that of this process and of all programs it waited for.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { JsonObject } from '../../src/common/json.ts';
import type { SubmittedTools } from '../../src/config/submission.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { interpreterFolders, scratchIn } from '../../src/tools/sandbox/folders.ts';
import { openSandbox, sandboxSupport } from '../../src/tools/sandbox/open.ts';
import { callTool, type ToolBench, toolBench } from '../support/tools.ts';
import { cpuSeconds } from './support/processes.ts';
import { median, rounds, spread, table } from './support/table.ts';

const OPENINGS = 20;
const CALLS = 200;
const WARM = 10;
const STARTS = 5;
const MODES = ['off', 'on'] as const;
const TERMINAL: readonly SubmittedTools[] = [
  { kind: 'builtin', name: 'terminal', position: { file: '', line: 1, column: 1 } },
];
const COMMAND = ['execute_command', { command: 'echo hi' }] as const;
const CONNECTED = ['connected', {}] as const;

interface Times {
  readonly wall: number[];
  readonly cpu: number[];
}
const times = (): Times => ({ wall: [], cpu: [] });

/** Adds the time of one of `count` repetitions, in ms. */
async function measure({ wall, cpu }: Times, count: number, repeat: () => Promise<unknown>): Promise<void> {
  const [from, used] = [performance.now(), cpuSeconds(process.pid)];
  for (let n = 0; n < count; n++) await repeat();
  wall.push((performance.now() - from) / count);
  cpu.push(((cpuSeconds(process.pid) - used) * 1000) / count);
}

/** Adds the time until the first call of a rollout's tools has ended, in ms. */
async function start(
  to: number[],
  bench: ToolBench,
  submitted: readonly SubmittedTools[],
  [name, args]: readonly [string, JsonObject],
): Promise<void> {
  const from = performance.now();
  const tools = await openTools(submitted, bench.environment);
  await callTool(tools, name, args);
  to.push(performance.now() - from);
  await tools.close();
}

const support = await sandboxSupport();
if (!support.works) throw new Error(`This machine has no sandbox: ${support.reason}`);
const work = await mkdtemp(path.join(os.tmpdir(), 'sandbox-bench-'));
const groups = { owner: 'bench', add: () => undefined, remove: () => undefined };
const opening = times();
const opened = times();
const calls = { off: times(), on: times() };
const starts = {
  module: { off: [] as number[], on: [] as number[] },
  first: { off: [] as number[], on: [] as number[] },
  next: { off: [] as number[], on: [] as number[] },
};
try {
  for (let round = 0; round < rounds(3); round++) {
    await measure(opened, OPENINGS, async () => {
      const view = {
        ...{ read: interpreterFolders(process.env as Record<string, string>), write: [work], hide: [], caches: [] },
        ...{ scratch: scratchIn(work), network: true },
      };
      const from = performance.now();
      const sandbox = await openSandbox({ mode: 'required' }, view, groups);
      opening.wall.push(performance.now() - from);
      await sandbox?.end();
    });
    for (const mode of MODES) {
      const bench = await toolBench({ sandbox: mode });
      const tools = await openTools(TERMINAL, bench.environment);
      const call = (): Promise<unknown> => callTool(tools, ...COMMAND);
      for (let n = 0; n < WARM; n++) await call();
      await measure(calls[mode], CALLS, call);
      await tools.close();
      await bench.close();
    }
    for (let n = 0; n < STARTS; n++) {
      for (const mode of MODES) {
        const bench = await toolBench({ sandbox: mode });
        await start(
          starts.module[mode],
          bench,
          [{ kind: 'module', module: await bench.module('routes.ts') }],
          CONNECTED,
        );
        await start(starts.first[mode], bench, TERMINAL, COMMAND);
        await start(starts.next[mode], bench, TERMINAL, COMMAND);
        await bench.close();
      }
    }
  }
} finally {
  await rm(work, { recursive: true });
}
const ratio = median(calls.on.cpu) / median(calls.off.cpu);
console.log(
  table(
    [
      [`one after the other (${rounds(3)} runs: min / median / max)`, 'ms', 'CPU ms', 'ratio of CPU'],
      ['opening a sandbox', spread(opening.wall, 1), '', ''],
      ['opening and ending it', spread(opened.wall, 1), spread(opened.cpu, 1), ''],
      ['first module of a worker, without', spread(starts.module.off, 1), '', ''],
      ['first module of a worker, in the sandbox', spread(starts.module.on, 1), '', ''],
      ['first terminal of a worker, without', spread(starts.first.off, 1), '', ''],
      ['first terminal of a worker, in the sandbox', spread(starts.first.on, 1), '', ''],
      ['terminal of a later rollout, without', spread(starts.next.off, 1), '', ''],
      ['terminal of a later rollout, in the sandbox', spread(starts.next.on, 1), '', ''],
      ['terminal, without', spread(calls.off.wall, 1), spread(calls.off.cpu, 1), '1.00'],
      ['terminal, in the sandbox', spread(calls.on.wall, 1), spread(calls.on.cpu, 1), ratio.toFixed(2)],
    ],
    [1, 2, 3],
  ),
);
console.log('Bound: start of a rollout ≤ 60 ms longer, ratio ≤ 1.5.');
