/** Two ways to run test files: each in its own process, or many in one process. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { z } from 'zod';
import { marked, newOwner } from '../../tools/processes/strays.ts';
import { root } from '../bundles.ts';
import { countsSchema, type FileResult, noCounts } from './counts.ts';
import { failureText } from './failure.ts';
import { follow } from './running.ts';

export const NODE_OPTIONS = ['--disable-warning=ExperimentalWarning'];

export interface RunOptions {
  /** Number of files that run at once. */
  readonly concurrency: number;
  /** Time limit of a test, or of a process that runs many files. */
  readonly timeoutMs: number;
  /** Runs only the tests with this tag in their titles, or all others. Default: all tests. */
  readonly tag?: { readonly name: string; readonly run: 'only' | 'others' };
}

/** Owner of the processes that test files start. */
export const testOwner = newOwner();
const testEnvironment = (): NodeJS.ProcessEnv => ({ ...process.env, ...marked({}, testOwner) });

export type FileResults = Map<string, FileResult>;

const failedFile = (file: string, failures: readonly string[] = []): FileResult => ({
  counts: { ...noCounts(), failed: 1, failures: [...failures, `${path.relative(root, file)} did not run to its end`] },
  ms: 0,
});

const END_AFTER_TESTS = ['--import', new URL('./endAfterTests.ts', import.meta.url).href];

/** Runs each file in its own process. A file that cannot be loaded, or does not exit normally, counts as failed. */
export async function runInProcesses(
  files: readonly string[],
  { concurrency, timeoutMs, tag }: RunOptions,
): Promise<FileResults> {
  const results: FileResults = new Map();
  const broken = new Set<string>();
  const failures: { file: string | undefined; text: string }[] = [];
  const pattern = tag === undefined ? undefined : `/${tag.name}\\b/`;
  const stream = run({
    files,
    concurrency,
    timeout: timeoutMs,
    cwd: root,
    execArgv: [...NODE_OPTIONS, ...END_AFTER_TESTS],
    env: testEnvironment(),
    ...(pattern === undefined ? {} : { [tag?.run === 'only' ? 'testNamePatterns' : 'testSkipPatterns']: [pattern] }),
  });
  follow(stream);
  stream.on('test:fail', (failed) => {
    if (files.includes(failed.name)) broken.add(failed.name);
    const failure = failureText(failed);
    if (failure !== undefined) failures.push({ file: failed.file, text: failure });
  });
  const failuresOf = (file: string): string[] =>
    failures.filter((failure) => failure.file === file).map((failure) => failure.text);
  stream.on('test:summary', ({ file, counts: { tests, passed, skipped, todo }, duration_ms: ms }) => {
    if (file === undefined) return;
    const failed = tests - passed - skipped - todo;
    results.set(file, { counts: { ...noCounts(), passed, failed, skipped, failures: failuresOf(file) }, ms });
  });
  for await (const line of stream.compose(new spec())) process.stdout.write(String(line));
  for (const file of files) {
    const { counts, ms } = results.get(file) ?? failedFile(file, failuresOf(file));
    if (!results.has(file) || broken.has(file))
      results.set(file, { counts: { ...counts, failed: Math.max(1, counts.failed) }, ms });
  }
  return results;
}

const shardResults = z.array(z.tuple([z.string(), z.object({ counts: countsSchema, ms: z.number() })]));

/** Runs the files in the allowed number of processes. If a process does not exit normally, all of its files fail. */
export async function runInShards(
  files: readonly string[],
  { concurrency, timeoutMs }: RunOptions,
): Promise<FileResults> {
  // The longest files come first: distributed in turns, all shards take about the same time.
  const shards = Array.from({ length: Math.min(concurrency, files.length) }, (_, shard) =>
    files.filter((_file, index) => index % concurrency === shard),
  );
  const results: FileResults = new Map(files.map((file) => [file, failedFile(file)]));
  await Promise.all(
    shards.map(async (shard) => {
      const child = fork(path.join(root, 'src/build/suites/shard.ts'), shard, {
        cwd: root,
        execArgv: NODE_OPTIONS,
        env: testEnvironment(),
        timeout: timeoutMs,
      });
      child.once('message', (message) => {
        for (const [file, result] of shardResults.parse(message)) results.set(file, result);
      });
      await once(child, 'close');
    }),
  );
  return results;
}
