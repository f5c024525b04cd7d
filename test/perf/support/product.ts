/** Runs the product for a benchmark: a workspace, a store, the command line, and the processes it used. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '../../../src/common/json.ts';
import { alive } from '../../support/cli.ts';
import { cpuSeconds, noteSandboxed, peakRss, treeBytes } from './processes.ts';
import { AGENT, BATCH_SEED, RESULT_TEXT, TOOL, taskIds, WORLD } from './work.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const cli = path.join(root, 'dist', 'cli.mjs');

export interface BatchShape {
  readonly tasks: number;
  readonly attempts: number;
  readonly lanes: number;
  readonly url: string;
  /** Section `pods` of the batch file, for runs in a cluster. */
  readonly pods?: JsonObject;
  /** `model.stream` of its agent. Default: as if the file did not say. */
  readonly stream?: 'always' | 'never' | undefined;
  /** Rules of its world, as YAML; it has no world without them. */
  readonly rules?: string;
  /** The tool belongs to a world that is a module, or that a model at the same endpoint plays. Default: to no world. */
  readonly world?: 'module' | 'simulated';
}

export interface ProductRun {
  readonly report: { batch: string; passed: number; attempts: number };
  /** User and system time of server, workers, and their helpers. */
  readonly cpuSeconds: number;
  /** Largest resident sets, in bytes: of the server, and of all workers together. */
  readonly serverRss: number;
  readonly workerRss: number;
  /** Largest memory of server, workers, and all that they started, in bytes, with shared pages counted once. */
  readonly treePss: number;
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
  readonly workspace = path.join(this.folder, 'workspace');

  /**
   * Runs a batch to its end. The server is running before the clock starts, as for a second batch, unless `cold`.
   * `more`: further options of the command.
   */
  async run(shape: BatchShape, options: { cold?: boolean; more?: readonly string[] } = {}): Promise<ProductRun> {
    this.write(shape);
    if (options.cold !== true) await this.rollout(['batches', '--json']);
    const cpuBefore = options.cold === true ? 0 : cpuSeconds(this.serverPid());
    const peaks = new Map<number, number>();
    const sandboxed = new Map<number, number>();
    let treePss = 0;
    let ticks = 0;
    const watch = setInterval(() => {
      this.#watchWorkers(peaks, sandboxed);
      // Reading it walks all pages of a process.
      if (ticks++ % 10 === 9) treePss = Math.max(treePss, treeBytes(this.serverPid()));
    }, 100);
    const spawnedAt = Date.now();
    const started = performance.now();
    let endedAt = 0;
    const report = JSON.parse(
      await this.rollout(['run', 'bench.batch.yaml', '--json', ...(options.more ?? [])], () => {
        endedAt = Date.now();
      }),
    ) as ProductRun['report'];
    const wallMs = performance.now() - started;
    clearInterval(watch);
    const pid = this.serverPid();
    await reaped([...peaks.keys()]);
    const workerRss = [...peaks.values()].reduce((sum, bytes) => sum + bytes, 0);
    return {
      report,
      cpuSeconds: cpuSeconds(pid) - cpuBefore + [...sandboxed.values()].reduce((sum, seconds) => sum + seconds, 0),
      serverRss: peakRss(pid),
      workerRss,
      treePss,
      wallMs,
      spawnedAt,
      endedAt,
      store: this.store,
    };
  }

  /** Runs `rollout …` to its end and returns its output. */
  async rollout(args: readonly string[], onExit: () => void = () => undefined): Promise<string> {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', cli, ...args, '--store', this.store],
      { cwd: this.workspace, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const output = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
    child.once('exit', onExit);
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`rollout ${args.join(' ')} ended with ${String(code)}: ${output.stderr}`);
    return output.stdout;
  }

  /** Processes of the current workers, from their folders. */
  workers(): number[] {
    try {
      const record = JSON.parse(readFileSync(path.join(this.store, 'work.json'), 'utf8')) as { folder: string };
      return readdirSync(record.folder)
        .flatMap((name) => /^local-(\d+)$/.exec(name)?.[1] ?? [])
        .map(Number);
    } catch {
      return []; // none yet
    }
  }

  serverPid(): number {
    return (JSON.parse(readFileSync(path.join(this.store, 'server.json'), 'utf8')) as { pid: number }).pid;
  }

  /** Size of the store's files, including the write-ahead log. */
  bytesOnDisk(): number {
    return readdirSync(this.store, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('log'))
      .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
  }

  /**
   * Waits until the server has compressed what has ended and released the space: it truncates its write-ahead log last.
   */
  async packed(): Promise<void> {
    for (let tries = 0; statSync(path.join(this.store, 'store.db-wal')).size > 0; tries++) {
      if (tries > 600) throw new Error('the store is not compressed within a minute');
      await delay(100);
    }
  }

  /** Ends the server gracefully. */
  async stopServer(): Promise<void> {
    const pid = this.serverPid();
    process.kill(pid, 'SIGTERM');
    for (let tries = 0; alive(pid); tries++) {
      if (tries > 400) throw new Error(`the server ${pid} does not end`);
      await delay(50);
    }
  }

  async close(): Promise<void> {
    try {
      await this.stopServer();
    } catch (error) {
      if (!['ESRCH', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  #watchWorkers(peaks: Map<number, number>, sandboxed: Map<number, number>): void {
    for (const pid of this.workers()) {
      try {
        peaks.set(pid, Math.max(peaks.get(pid) ?? 0, peakRss(pid)));
        noteSandboxed(pid, sandboxed);
      } catch {
        // It has just ended: what was seen of it counts.
      }
    }
  }

  write({ tasks, attempts, lanes, url, pods, stream, rules, world }: BatchShape): void {
    mkdirSync(this.workspace, { recursive: true });
    const write = (file: string, text: string): void => writeFileSync(path.join(this.workspace, file), text);
    write(
      'lookup.ts',
      `import { tool } from 'rollout-studio';
import { z } from 'zod';
const text = ${JSON.stringify(RESULT_TEXT)};
export const ${TOOL} = tool({ description: 'Looks a key up.', input: z.object({ key: z.string() }), effect: 'pure', \
run: ({ key }) => key + ' ' + text });
`,
    );
    write(
      'tasks.jsonl',
      taskIds(tasks)
        .map((id) => JSON.stringify({ id, question: `Do task ${id}.`, answer: 'done' }))
        .join('\n'),
    );
    write(
      `${AGENT}.agent.yaml`,
      `version: 1
name: ${AGENT}
model: { endpoint: "${url}", name: bench, sampling: { temperature: 1, max_tokens: 4096 }\
${stream === undefined ? '' : `, stream: ${stream}`} }
prompt: You look keys up.
tools: ${world === undefined ? '[{ module: lookup.ts }]' : '[]'}
limits: { tokens: 100000000 }
`,
    );
    const tools = world === undefined ? '{}' : `{ ${TOOL} }`;
    write(
      'world.ts',
      `import { ${TOOL} } from './lookup.ts';\nexport const open = () => ({ state: undefined, tools: ${tools} });\n`,
    );
    write(
      'tools.json',
      JSON.stringify([{ name: TOOL, description: 'Looks a key up.', inputSchema: { type: 'object' } }]),
    );
    const kind =
      world === 'simulated'
        ? `kind: simulated\nmodel: { endpoint: "${url}", name: ${WORLD} }\ntools: [{ file: tools.json }]\n`
        : 'kind: module\nmodule: world.ts\n';
    write('bench.world.yaml', `version: 1\nname: bench\n${kind}perturb:\n${rules ?? '  []'}\n`);
    write(
      'bench.batch.yaml',
      `version: 1
agent: ${AGENT}.agent.yaml
dataset: { file: tasks.jsonl, question: question, answer: answer }
attempts: ${attempts}
seed: ${BATCH_SEED}
scorer: { kind: contains }
concurrency: ${lanes}
${[
  ...(rules === undefined && world === undefined ? [] : ['world: bench.world.yaml']),
  ...(pods === undefined ? [] : [`pods: ${JSON.stringify(pods)}`]),
].join('\n')}
`,
    );
  }
}

/**
 * Workers end by themselves once their batch is drained; their time counts for the server when it has seen their end.
 */
async function reaped(workers: readonly number[]): Promise<void> {
  for (let tries = 0; workers.some(alive); tries++) {
    if (tries > 400) throw new Error('the workers did not end');
    await delay(50);
  }
}
