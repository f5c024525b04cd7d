/** Running the product for a benchmark: a workspace, a store, the command line, and the processes it used. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { AGENT, BATCH_SEED, RESULT_TEXT, TOOL, taskIds } from './work.ts';
import { cpuSeconds, peakRss } from './processes.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const cli = path.join(root, 'dist', 'cli.mjs');

export interface BatchShape {
  readonly tasks: number;
  readonly attempts: number;
  readonly lanes: number;
  readonly url: string;
}

export interface ProductRun {
  readonly report: { batch: string; passed: number; attempts: number };
  /** User and system time of server, workers and their helpers. */
  readonly cpuSeconds: number;
  readonly serverRss: number;
  /** From the spawn of `rollout run` to its end. */
  readonly wallMs: number;
  /** ms since the epoch. */
  readonly spawnedAt: number;
  readonly endedAt: number;
  readonly store: string;
}

/** One folder with a workspace and a store; `close` ends its server and removes it. */
export class ProductBench {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-bench-'));
  readonly store = path.join(this.folder, 'store');
  readonly #workspace = path.join(this.folder, 'workspace');

  run(shape: BatchShape): ProductRun {
    this.#write(shape);
    this.rollout(['batches', '--json']); // the server is up before the clock starts, as it is for a second batch
    const pid = this.serverPid();
    const cpuBefore = cpuSeconds(pid);
    const spawnedAt = Date.now();
    const started = performance.now();
    const report = JSON.parse(this.rollout(['run', 'bench.batch.yaml', '--json'])) as ProductRun['report'];
    const wallMs = performance.now() - started;
    const endedAt = Date.now();
    this.#waitForWorkers(pid);
    return { report, cpuSeconds: cpuSeconds(pid) - cpuBefore, serverRss: peakRss(pid), wallMs, spawnedAt, endedAt, store: this.store };
  }

  rollout(args: readonly string[]): string {
    const done = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', cli, ...args, '--store', this.store], {
      cwd: this.#workspace, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 256 * 1024 * 1024,
    });
    if (done.status !== 0) throw new Error(`rollout ${args.join(' ')} ended with ${String(done.status)}: ${done.stderr}`);
    return done.stdout;
  }

  serverPid(): number {
    return (JSON.parse(readFileSync(path.join(this.store, 'server.json'), 'utf8')) as { pid: number }).pid;
  }

  /** Size of the store's files, the write-ahead log included. */
  bytesOnDisk(): number {
    return readdirSync(this.store, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('log'))
      .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
  }

  close(): void {
    try {
      process.kill(this.serverPid(), 'SIGTERM');
    } catch (error) {
      if (!['ESRCH', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  /** Workers end by themselves once their batch is drained; their time counts for the server then. */
  #waitForWorkers(pid: number): void {
    const pause = new Int32Array(new SharedArrayBuffer(4));
    for (let tries = 0; tries < 200; tries++) {
      const info = JSON.parse(this.rollout(['doctor', '--json'])) as { server?: { workers?: unknown[] } };
      if ((info.server?.workers ?? []).length === 0) return;
      Atomics.wait(pause, 0, 0, 50);
    }
    throw new Error(`the workers of server ${pid} did not end`);
  }

  #write({ tasks, attempts, lanes, url }: BatchShape): void {
    mkdirSync(this.#workspace, { recursive: true });
    const write = (file: string, text: string): void => writeFileSync(path.join(this.#workspace, file), text);
    write('lookup.ts', `import { tool } from 'rollout-studio';
import { z } from 'zod';
const text = ${JSON.stringify(RESULT_TEXT)};
export const ${TOOL} = tool({ description: 'Looks a key up.', input: z.object({ key: z.string() }), effect: 'pure', run: ({ key }) => key + ' ' + text });
`);
    write('tasks.jsonl', taskIds(tasks).map((id) => JSON.stringify({ id, question: `Do task ${id}.`, answer: 'done' })).join('\n'));
    write(`${AGENT}.agent.yaml`, `version: 1
name: ${AGENT}
model: { endpoint: "${url}", name: bench, sampling: { temperature: 1, max_tokens: 4096 } }
prompt: You look keys up.
tools: [{ module: lookup.ts }]
limits: { tokens: 100000000 }
`);
    write('bench.batch.yaml', `version: 1
agent: ${AGENT}.agent.yaml
dataset: { file: tasks.jsonl, question: question, answer: answer }
attempts: ${attempts}
seed: ${BATCH_SEED}
scorer: { kind: contains }
concurrency: ${lanes}
`);
  }
}
