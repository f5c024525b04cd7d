/**
 * `.ci/run`: runs what a change must pass, as far as it can run on this machine, and prints the sum. The long tests run
 * each night instead (`npm run test:deep`).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { root } from './bundles.ts';
import { addCounts, afterSecondRun, noCounts, printResult } from './suites/counts.ts';
import { type FailedFile, ONCE, type RunResult, readResult, removeResult } from './suites/result.ts';
import { NODE_OPTIONS } from './suites/runFiles.ts';
import { missingKit } from './system/kits.ts';
import { missingPython, WORLDS } from './system/python.ts';
import { prepareVsCode } from './system/vscode.ts';

/**
 * Two lanes of suites run at once: those that need the processor, starting with `npm test`, and those that mostly wait,
 * for pods, leases, and starting processes.
 */
const BUSY = ['all', 'webview', 'vscode', 'vllm', 'recordings'];
const WAITING = ['cluster', WORLDS];
/** Begins lines of the second lane. */
const WAITING_PREFIX = '┊ ';

/** Twice the usual time. Whatever runs then is stopped, so that a run that hangs has a result, too. */
const TIME_LIMIT_MS = 85 * 60_000;
/** How long suites may take to stop: a cluster has to. */
const STOP_MS = 60_000;

/** A process that was left over may keep the output of a suite open. */
const CLOSE_MS = 5000;

const total = noCounts();
const failedFiles: FailedFile[] = [];
const running = new Map<string, ChildProcess>();
/** Set while the run is stopped. */
let stopping: Promise<never> | undefined;

/** Runs test.ts with these arguments. A run without a result counts as one failure. */
async function run(name: string, args: readonly string[], prefix = ''): Promise<RunResult> {
  removeResult(args);
  const started = Date.now();
  const child = spawn(process.execPath, [...NODE_OPTIONS, path.join(root, 'src/build/test.ts'), ONCE, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.set(name, child);
  for (const output of [child.stdout, child.stderr])
    createInterface(output).on('line', (line) => console.log(`${prefix}${line}`));
  const closed = once(child, 'close');
  await once(child, 'exit');
  await Promise.race([closed, delay(CLOSE_MS)]);
  await stopping;
  running.delete(name);
  console.log(`${prefix}${name}: ${Math.round((Date.now() - started) / 1000)} s`);
  return readResult(args) ?? { ...noCounts(), failed: 1, failures: [`${name} has no result`], failedFiles: [] };
}

async function runLane(names: readonly string[], prefix?: string): Promise<void> {
  for (const name of names) {
    const missing = name === WORLDS ? noPython : missingKit(name);
    if (missing === undefined) {
      const result = await run(name, name === 'all' ? [] : [name], prefix);
      addCounts(total, result);
      failedFiles.push(...result.failedFiles);
    } else console.log(`test:${name} was skipped: ${missing}`);
  }
}

/** Runs each file that failed once more, alone, because it may have felt other work on the machine. */
async function runFailedAgain(): Promise<void> {
  for (let next = failedFiles.shift(); next !== undefined; next = failedFiles.shift()) {
    const { file, counts } = next;
    console.log(`\nRunning again alone: ${file}`);
    const second = await run(file, [file]);
    addCounts(total, afterSecondRun(file, counts, second.failedFiles[0]?.counts ?? second));
  }
}

/** Stops what runs, and ends with what there is. */
async function stop(reason: string): Promise<never> {
  const failures = [...running.keys()].map((name) => `${name} did not end: ${reason}`);
  console.log(`\n${failures.join('\n')}`);
  const ended = [...running.values()].map((child) => once(child, 'exit'));
  for (const child of running.values()) child.kill();
  await Promise.race([Promise.all(ended), delay(STOP_MS)]);
  addCounts(total, { ...noCounts(), failed: Math.max(1, failures.length), failures });
  for (const { counts } of failedFiles) addCounts(total, counts);
  printResult(total);
  process.exit(1);
}

delete process.env['KUBECONFIG']; // tests must not use the user's cluster, only the kit's
const minutes = TIME_LIMIT_MS / 60_000;
setTimeout(() => void (stopping ??= stop(`stopped after ${minutes} minutes`)), TIME_LIMIT_MS).unref();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => void (stopping ??= stop(`stopped by ${signal}`)));
const noPython = missingPython();
const noVsCode = prepareVsCode(); // once for both lanes
if (noVsCode !== undefined) console.error(noVsCode);
await Promise.all([runLane(BUSY), runLane(WAITING, WAITING_PREFIX)]);
await runFailedAgain();
printResult(total);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);
