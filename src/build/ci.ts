/**
 * `.ci/run`: runs what a change must pass, as far as it can run on this machine, and prints the sum. The long tests run
 * each night instead (`npm run test:deep`).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
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

const total = noCounts();
const failedFiles: FailedFile[] = [];

/** Runs test.ts with these arguments. A run without a result counts as one failure. */
async function run(name: string, args: readonly string[], output: 'live' | 'at end'): Promise<RunResult> {
  removeResult(args);
  const started = Date.now();
  const stdio = output === 'live' ? 'inherit' : 'pipe';
  const child = spawn(process.execPath, [...NODE_OPTIONS, path.join(root, 'src/build/test.ts'), ONCE, ...args], {
    cwd: root,
    stdio: ['ignore', stdio, stdio],
  });
  const printed = Promise.all([child.stdout, child.stderr].map((stream) => Promise.resolve(stream && text(stream))));
  await once(child, 'close');
  for (const lines of await printed) process.stdout.write(lines ?? '');
  console.log(`${name}: ${Math.round((Date.now() - started) / 1000)} s`);
  return readResult(args) ?? { ...noCounts(), failed: 1, failures: [`${name} has no result`], failedFiles: [] };
}

async function runLane(names: readonly string[], output: 'live' | 'at end'): Promise<void> {
  for (const name of names) {
    const missing = name === WORLDS ? noPython : missingKit(name);
    if (missing === undefined) {
      const result = await run(name, name === 'all' ? [] : [name], output);
      addCounts(total, result);
      failedFiles.push(...result.failedFiles);
    } else console.log(`test:${name} was skipped: ${missing}`);
  }
}

/** Runs each file that failed once more, alone, because it may have felt other work on the machine. */
async function runFailedAgain(): Promise<void> {
  for (const { file, counts } of failedFiles) {
    console.log(`\nRunning again alone: ${file}`);
    const second = await run(file, [file], 'live');
    addCounts(total, afterSecondRun(file, counts, second.failedFiles[0]?.counts ?? second));
  }
}

delete process.env['KUBECONFIG']; // tests must not use the user's cluster, only the kit's
const noPython = missingPython();
const noVsCode = prepareVsCode(); // once for both lanes
if (noVsCode !== undefined) console.error(noVsCode);
await Promise.all([runLane(BUSY, 'live'), runLane(WAITING, 'at end')]);
await runFailedAgain();
printResult(total);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);
