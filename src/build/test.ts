/**
 * `npm test` and `npm run test:<suite>`: runs suites with Node's own test runner and prints `N passed, N failed`.
 *
 *   test.ts                  check, then every suite that needs nothing but npm packages
 *   test.ts <suite> […]      these suites
 *   test.ts deep             the tests tagged @deep, which take long, of all suites that can run here
 *   test.ts faults           every fault of a cluster, with a table of what the user sees
 *   test.ts journey          the whole journey on a real VS Code, cluster, and vLLM
 *   test.ts <file.test.ts>   these files
 *   test.ts --once […]       files that fail do not run again
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { jsonOf } from '../common/json.ts';
import { endStrays } from '../tools/processes/strays.ts';
import { root } from './bundles.ts';
import { addCounts, afterSecondRun, type Counts, countsText, noCounts, printResult } from './suites/counts.ts';
import { type FailedFile, ONCE, writeResult } from './suites/result.ts';
import {
  type FileResults,
  NODE_OPTIONS,
  type RunOptions,
  runInProcesses,
  runInShards,
  testOwner,
} from './suites/runFiles.ts';
import { runningTests } from './suites/running.ts';
import { startCluster } from './system/cluster.ts';
import { missingKit } from './system/kits.ts';
import { installPrograms } from './system/programs.ts';
import { missingPython, WORLDS } from './system/python.ts';
import { missingTrainers, TRAINERS } from './system/trainers.ts';
import { prepareVsCode } from './system/vscode.ts';

/** Suites of `npm test`, in order. The ones that start processes, and so wait a lot, run together. */
const DEFAULT_SUITES = [['unit'], ['contract', 'process']] as const;
/**
 * Number of files of one suite that run at once, because files that wait for a process or a window leave a processor
 * free.
 */
const CONCURRENCY: Readonly<Record<string, number>> = {
  unit: 2,
  contract: 2,
  process: 5,
  webview: 2,
  vscode: 2,
  worlds: 2,
  cluster: 2,
};
/** Files of this folder of a suite break what the others use, so they run one at a time, after the others. */
const ALONE = 'alone';
/** Suites whose files share processes. */
const SHARDED = new Set(['unit']);
/**
 * The long tests of these suites have the tag in their titles: series of kills, and variants of a path that another
 * test covers. The suites leave them to `npm run test:deep`. A file given by name runs completely.
 */
const DEEP = 'deep';
const DEEP_TAG = '@deep';
const TAGGED: readonly (readonly string[])[] = [['contract', 'process'], ['webview'], ['vscode'], ['cluster']];
/**
 * A test of many must not hold up the others for long if it hangs. Files that share a process or a browser take longer
 * together, as do those that install and start a counterpart first.
 */
const TIMEOUT_MS = { short: 10 * 60_000, usual: 20 * 60_000 } as const;
const SHORT = new Set(['contract', 'process']);
/** Folders of suites that differ from the suite's name. */
const FOLDERS: Readonly<Record<string, string>> = { vscode: 'e2e' };
const CLUSTER = 'cluster';
/** One story on all real counterparts at once. */
const JOURNEY = 'journey';
/** Breaks the cluster in every tested way, and prints the results. */
const FAULTS = 'faults';
/** Suites that are single files of another one. */
const FILES: Readonly<Record<string, string>> = { [FAULTS]: 'test/cluster/**/faults*.test.ts' };
/** Suites with a browser. */
const IN_BROWSER = new Set(['webview', 'vscode']);
/** How long each file took in its last run, in milliseconds. */
const TIMES = path.join(root, 'test', '.out', 'times.json');

/** Suites whose files run together, as those of the last one. */
interface Group {
  readonly suites: readonly string[];
  /** Only the tests with the tag, or none of them. */
  readonly isDeep: boolean;
}

function runFiles(
  suite: string,
  files: readonly string[],
  isDeep: boolean,
  concurrency = CONCURRENCY[suite] ?? 1,
): Promise<FileResults> {
  const options = { concurrency, timeoutMs: TIMEOUT_MS[SHORT.has(suite) ? 'short' : 'usual'] };
  if (SHARDED.has(suite)) return runInShards(files, options);
  const isTagged = TAGGED.flat().includes(suite);
  return runAloneLast(files, {
    ...options,
    ...(isTagged ? { tag: { name: DEEP_TAG, run: isDeep ? 'only' : 'others' } } : {}),
  });
}

async function runAloneLast(files: readonly string[], options: RunOptions): Promise<FileResults> {
  const isAlone = (file: string): boolean => path.basename(path.dirname(file)) === ALONE;
  const results: FileResults = new Map();
  for (const [group, concurrency] of [
    [files.filter((file) => !isAlone(file)), options.concurrency],
    [files.filter(isAlone), 1],
  ] as const) {
    if (group.length === 0) continue;
    for (const [file, result] of await runInProcesses(group, { ...options, concurrency })) results.set(file, result);
  }
  return results;
}

/**
 * Runs a suite. A failed file runs once more, alone, because processes, browsers, engines, and clusters feel other work
 * on the machine. The second result counts, and the file is reported as flaky. With `--once`, the first result counts,
 * and the caller learns which files failed.
 */
async function runSuite(suite: string, files: readonly string[], isDeep = false): Promise<Counts> {
  const results = await runFiles(suite, files, isDeep);
  await stopping;
  const total = noCounts();
  for (const [file, { counts, ms }] of results) {
    if (!isDeep) durations[path.relative(root, file)] = Math.round(ms);
    if (counts.failed === 0) {
      addCounts(total, counts);
      continue;
    }
    const name = path.relative(root, file);
    if (firstResultsCount) {
      failedFiles.push({ file: name, counts });
      continue;
    }
    console.log(`\nRunning again alone: ${name}`);
    addCounts(
      total,
      afterSecondRun(name, counts, (await runFiles(suite, [file], isDeep, 1)).get(file)?.counts ?? counts),
    );
  }
  return total;
}

/**
 * Returns the files of a suite, or of its long tests, after preparing what they need. If that is impossible, exits;
 * long tests are only left out.
 */
function prepared(suite: string, isDeep: boolean): string[] {
  const files = filesOf(suite).filter((file) => !isDeep || readFileSync(file, 'utf8').includes(DEEP_TAG));
  if (files.length === 0) {
    if (isDeep) return [];
    console.error(`test:${suite}: no files match ${patternOf(suite)}`);
    process.exit(2);
  }
  const missing = (suite === CLUSTER ? undefined : missingKit(suite)) ?? prepare(suite);
  if (missing === undefined) return files;
  console.error(isDeep ? `Without long tests of ${suite}: ${missing}` : `test:${suite} did not run: ${missing}`);
  if (isDeep) return [];
  process.exit(2);
}

function patternOf(suite: string): string {
  return FILES[suite] ?? `test/${FOLDERS[suite] ?? suite}/**/*.test.ts`;
}

function filesOf(suite: string): string[] {
  return globSync(patternOf(suite), { cwd: root }).map((file) => path.join(root, file));
}

/**
 * Sorts the files that took longest in the last run first, so that none of them runs at the end without others. New
 * files come before all, the larger ones first, which is about the same order on a clean clone.
 */
function byDuration(a: string, b: string): number {
  const last = (file: string): number => lastDurations[path.relative(root, file)] ?? Number.POSITIVE_INFINITY;
  const size = (file: string): number => statSync(file).size;
  return last(b) - last(a) || size(b) - size(a) || (a < b ? -1 : 1);
}

/** Runs `npm run check`. Its output comes at the end, so that it does not mix with that of the suites. */
async function startCheck(): Promise<{ ok: boolean; output: string }> {
  const child = spawn(process.execPath, [...NODE_OPTIONS, path.join(root, 'src/build/check.ts')], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { ok: child.exitCode === 0, output: out + errors };
}

function readTimes(): Record<string, number> {
  if (!existsSync(TIMES)) return {};
  const times = z.record(z.string(), z.number()).safeParse(jsonOf(readFileSync(TIMES, 'utf8')));
  return times.data ?? {};
}

/** Prepares what a suite needs. Returns why that is impossible, if it is. */
function prepare(suite: string): string | undefined {
  if (suite === CLUSTER) return prepareCluster() ?? prepareVsCode();
  if (suite === JOURNEY) return missingKit('vllm') ?? prepareCluster() ?? prepareVsCode();
  if (suite === FAULTS) {
    process.env['ROLLOUT_TEST_AWAY_SECONDS'] ??= '60'; // the fault tests use the full minute
    return prepareCluster();
  }
  if (suite === WORLDS) return missingPython();
  if (suite === TRAINERS) return missingTrainers();
  if (!IN_BROWSER.has(suite)) return undefined;
  return suite === 'vscode' ? prepareVsCode() : installPrograms(['chromium']);
}

/** A cluster for test/cluster, until this process ends. */
function prepareCluster(): string | undefined {
  const cluster = startCluster();
  if (typeof cluster === 'string') return cluster;
  process.once('exit', () => cluster.stop());
  process.env['KUBECONFIG'] = cluster.kubeconfig;
  if (cluster.kit !== undefined) process.env['ROLLOUT_KUBERNETES_KIT'] = cluster.kit;
  console.log(
    `test:${CLUSTER} needs a Kubernetes cluster whose nodes have a Node.js image. It uses its own namespaces in ` +
      cluster.kubeconfig,
  );
  return undefined;
}

/** Set while the run is stopped. */
let stopping: Promise<never> | undefined;

/**
 * Says what was running, and ends it: processes of tests lead groups of their own, which no signal to this one reaches.
 * Handlers stay: a signal to a group arrives here twice.
 */
async function stop(): Promise<never> {
  console.log(
    `\nStopped${runningTests()
      .map((line) => `\n  while running: ${line}`)
      .join('')}`,
  );
  await endStrays(testOwner);
  process.exit(130);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void (stopping ??= stop()));
process.env['ROLLOUT_USE_BUNDLES'] ??= '1'; // run.mjs built them from the sources
// Each file of the process suite and each program it starts is a process of its own: they compile a module only once.
process.env['NODE_COMPILE_CACHE'] ??= path.join(root, 'test', '.out', 'compiled');
const firstResultsCount = process.argv.includes(ONCE);
const requested = process.argv.slice(2).filter((name) => name !== ONCE);
const single = requested.filter((name) => name.endsWith('.ts'));
const groups: readonly Group[] =
  requested.length === 0
    ? DEFAULT_SUITES.map((suites) => ({ suites, isDeep: false }))
    : requested
        .filter((name) => !name.endsWith('.ts'))
        .flatMap((name): Group[] =>
          name === DEEP ? TAGGED.map((suites) => ({ suites, isDeep: true })) : [{ suites: [name], isDeep: false }],
        );
const total = noCounts();
const failedFiles: FailedFile[] = [];
const durations: Record<string, number> = {};
const lastDurations = readTimes();

// In parallel with the suites: the check needs the processor, and they wait a lot.
const check = requested.length === 0 ? startCheck() : undefined;
for (const { suites, isDeep } of groups) {
  const files = suites.flatMap((suite) => prepared(suite, isDeep)).sort(byDuration);
  if (files.length === 0) continue;
  const names = isDeep ? `long tests of ${suites.join(', ')}` : suites.join(', ');
  const started = Date.now();
  console.log(`\n── ${names} (${files.length} files)`);
  const counts = await runSuite(suites.at(-1) ?? '', files, isDeep);
  console.log(`── ${names}: ${countsText(counts)} in ${Math.round((Date.now() - started) / 1000)} s`);
  addCounts(total, counts);
}
if (single.some((file) => path.relative(root, path.resolve(file)).split(path.sep)[1] === CLUSTER)) {
  const missing = prepareCluster();
  if (missing !== undefined) {
    console.error(`test:${CLUSTER} did not run: ${missing}`);
    process.exit(2);
  }
}
if (single.length > 0)
  addCounts(
    total,
    await runSuite(
      'files',
      single.map((file) => path.resolve(file)),
    ),
  );

if (check !== undefined) {
  const { ok, output } = await check;
  console.log(`\n── check\n${output}`);
  addCounts(total, { ...noCounts(), passed: ok ? 1 : 0, failed: ok ? 0 : 1 });
}
mkdirSync(path.dirname(TIMES), { recursive: true });
// Other suites may have run at the same time.
writeFileSync(TIMES, JSON.stringify({ ...readTimes(), ...durations }, null, 2));
writeResult(requested, { ...total, failedFiles });
for (const { counts } of failedFiles) addCounts(total, counts);
printResult(total);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);
