/** Programs that run in the environment of a trainer. Each prints one line of JSON at its end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { z } from 'zod';
import { type Trainer, trainerPython } from '../../../src/build/system/trainers.ts';
import { GOLDEN_FOLDER } from '../../support/goldenRows.ts';

const FOLDER = path.join(import.meta.dirname, '..', 'python');
const BRIDGES = path.join(import.meta.dirname, '..', '..', '..', 'examples', 'bridges');
const PATIENCE_MS = 600_000;

interface Program {
  readonly trainer: Trainer;
  /** A file of `test/trainers/python`. */
  readonly script: string;
  readonly args?: readonly string[];
  /** Written to it as JSON. */
  readonly input?: unknown;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program to its end. Returns what it found. Throws what it printed if it fails. */
export async function runPython<T extends z.ZodType>(
  { trainer, script, args = [GOLDEN_FOLDER], input, env = {} }: Program,
  found: T,
): Promise<z.infer<T>> {
  const child = spawn(trainerPython(trainer), [path.join(FOLDER, script), ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: PATIENCE_MS,
    env: {
      ...process.env,
      // Nothing is read from the network, and two processors are enough.
      ...{ HF_HUB_OFFLINE: '1', TRANSFORMERS_OFFLINE: '1', OMP_NUM_THREADS: '2', PYTHONWARNINGS: 'ignore' },
      ...{ PYTHONPATH: BRIDGES, PYTHONDONTWRITEBYTECODE: '1', CUDA_VISIBLE_DEVICES: '' },
      ...env,
    },
  });
  child.stdin.end(input === undefined ? '' : JSON.stringify(input));
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (child.exitCode !== 0) throw new Error(`${script} failed:\n${out.slice(-2_000)}\n${errors.slice(-4_000)}`);
  return found.parse(JSON.parse(out.trim().split('\n').at(-1) ?? ''));
}
