/** Starts and measures processes for benchmarks. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TURNS } from './work.ts';

const here = path.dirname(fileURLToPath(import.meta.url));
const QUIET = '--disable-warning=ExperimentalWarning';

export interface Mock {
  readonly url: string;
  stats(): Promise<{ calls: number; first: number; last: number }>;
  /** How often each call was repeated, by seed. */
  again(): Promise<Record<string, number>>;
  stop(): Promise<void>;
}

/** Starts the mock model server as a separate process. */
export async function startMock(medianMs: number, sigma: number, chunks: number, turns: number = TURNS): Promise<Mock> {
  const child = spawn(
    process.execPath,
    [QUIET, path.join(here, 'mockModel.ts'), String(medianMs), String(sigma), String(chunks), String(turns)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const port = await firstLine(child);
  const root = `http://127.0.0.1:${port}`;
  return {
    url: `${root}/v1`,
    stats: async () => (await (await fetch(`${root}/stats`)).json()) as { calls: number; first: number; last: number },
    again: async () => (await (await fetch(`${root}/again`)).json()) as Record<string, number>,
    stop: () => stopped(child),
  };
}

/** Ends a child and waits for its exit. */
export function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

export function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`ended with ${String(code)} before its first line`)));
    if (child.stdout !== null) createInterface({ input: child.stdout }).once('line', resolve);
  });
}

export interface Bare {
  steps: number;
  passed: number;
  cpu_s: number;
  wall_s: number;
  rss: number;
  /** Like `wall_s`, with the start of its process. */
  total_s: number;
}

/** How the bare loop calls: with the `openai` package, whole or streamed, or streamed with undici alone. */
export type BareLoop = 'whole' | 'stream' | 'undici';

/** Runs the bare loop to its end. */
export async function runBare(
  url: string,
  tasks: number,
  attempts: number,
  lanes: number,
  how: BareLoop,
): Promise<Bare> {
  const started = performance.now();
  const child = spawn(
    process.execPath,
    [QUIET, path.join(here, 'bareLoop.ts'), url, String(tasks), String(attempts), String(lanes), how],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const bare = JSON.parse(await firstLine(child)) as Omit<Bare, 'total_s'>;
  return { ...bare, total_s: (performance.now() - started) / 1000 };
}

/** CPU seconds of a process and of all its children that ended and were waited for. */
export function cpuSeconds(pid: number): number {
  if (process.platform === 'linux') {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return ((fields[11] ?? 0) + (fields[12] ?? 0) + (fields[13] ?? 0) + (fields[14] ?? 0)) / 100;
  }
  const time = execFileSync('ps', ['-o', 'cputime=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  return time
    .split(/[:-]/)
    .reverse()
    .reduce((sum, part, index) => sum + Number(part) * ([1, 60, 3600, 86400][index] ?? 0), 0);
}

/**
 * Notes the CPU seconds of the programs that run in sandboxes of a worker, by ID (Linux). What is killed together with
 * the program that entered the sandbox is counted for nobody.
 */
export function noteSandboxed(worker: number, seen: Map<number, number>): void {
  if (process.platform !== 'linux') return;
  for (const child of childrenOf(worker)) {
    if (readFileSync(`/proc/${child}/comm`, 'utf8').trim() !== 'nsenter') continue;
    for (const inside of childrenOf(child)) seen.set(inside, cpuSeconds(inside));
  }
}

/** Returns the children of a process's first thread, which starts all of Node's. */
function childrenOf(pid: number): number[] {
  return (readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? []).map(Number);
}

/**
 * Memory of a process and of everything that it started, in bytes: pages that several share are counted once (Linux;
 * elsewhere 0).
 */
export function treeBytes(pid: number): number {
  if (process.platform !== 'linux') return 0;
  let bytes = 0;
  for (const one of [pid, ...descendantsOf(pid)]) {
    try {
      const [, pss = '0'] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, 'utf8')) ?? [];
      bytes += Number(pss) * 1024;
    } catch {
      // It has just ended.
    }
  }
  return bytes;
}

function descendantsOf(pid: number): number[] {
  try {
    return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
  } catch {
    return []; // it has just ended
  }
}

/** Largest resident set so far, in bytes (Linux; elsewhere the current one). */
export function peakRss(pid: number): number {
  if (process.platform === 'linux')
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).trim()) * 1024;
}
