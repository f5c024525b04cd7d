/**
 * The shared work of all batch benchmarks: every attempt makes `TURNS` model calls; all but the last answer with one
 * tool call (1 kB result), the last with a text. Latency is a function of the call's seed alone, so a bare loop and the
 * product meet the same chains, and the best possible schedule can be simulated.
 */
import { seedOf } from '../../../src/common/hash.ts';

export const TURNS = 10;
export const BATCH_SEED = 7;
export const AGENT = 'bench';
export const TOOL = 'lookup';
/** Name of a model that plays the world. */
export const WORLD = 'world';

export interface Latency {
  /** Milliseconds; 0 = answers immediately. */
  readonly medianMs: number;
  /** Of the lognormal. */
  readonly sigma: number;
}

/** Seed of the n-th (from 1) model call of an attempt (see `rolloutSeed`). */
export function callSeed(task: string, attempt: number, call: number): number {
  return seedOf(seedOf(BATCH_SEED, task, attempt), AGENT, call);
}

/** Seed of the call of the model that plays the world, inside the tool call of the n-th model call of an attempt. */
export function worldSeed(task: string, attempt: number, call: number): number {
  const tool = seedOf(seedOf(BATCH_SEED, task, attempt), AGENT, call, 0);
  return seedOf(seedOf(tool, WORLD, 0), WORLD, 1);
}

/** Seconds → ms of a call, from its seed: a lognormal by Box and Muller over two draws of a 32-bit mixer. */
export function latencyMs(seed: number, latency: Latency): number {
  if (latency.medianMs === 0) return 0;
  const u = (mix(seed) + 1) / 4294967297;
  const v = mix(seed ^ 0x9e3779b9) / 4294967296;
  return latency.medianMs * Math.exp(latency.sigma * Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v));
}

/** A finalizer in the manner of MurmurHash3: unsigned 32 bits in, unsigned 32 bits out. */
function mix(value: number): number {
  let h = value >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

export const taskIds = (tasks: number): string[] => Array.from({ length: tasks }, (_, index) => `t${index}`);

/** Every attempt in the product's queue order (breadth: all first attempts first). */
export function attemptsInOrder(tasks: number, attempts: number): { task: string; attempt: number }[] {
  return Array.from({ length: attempts }, (_, n) => taskIds(tasks).map((task) => ({ task, attempt: n + 1 }))).flat();
}

/** How long the model server takes for all calls of an attempt; `simulated`: with those of the world. */
export function chainMs(task: string, attempt: number, latency: Latency, simulated = false): number {
  let chain = 0;
  for (let call = 1; call <= TURNS; call++) {
    chain += latencyMs(callSeed(task, attempt, call), latency);
    if (simulated && call < TURNS) chain += latencyMs(worldSeed(task, attempt, call), latency);
  }
  return chain;
}

/**
 * Makespan in ms of a greedy executor without overhead: each lane takes the next attempt the moment it is free.
 * `lanes`: how many, or when each of them starts. `order`: in which attempts start; default: that of the queue.
 */
export function idealMs(
  tasks: number,
  attempts: number,
  lanes: number | readonly number[],
  latency: Latency,
  simulated = false,
  order: readonly { readonly task: string; readonly attempt: number }[] = attemptsInOrder(tasks, attempts),
): number {
  const free = typeof lanes === 'number' ? new Array<number>(lanes).fill(0) : [...lanes];
  for (const { task, attempt } of order) {
    const chain = chainMs(task, attempt, latency, simulated);
    let lane = 0;
    for (let i = 1; i < free.length; i++) if ((free[i] ?? 0) < (free[lane] ?? 0)) lane = i;
    free[lane] = (free[lane] ?? 0) + chain;
  }
  return Math.max(...free);
}

export const RESULT_TEXT = 'x'.repeat(1000);
/** About 190 tokens. */
export const REPLY_TEXT = 'word '.repeat(150);
