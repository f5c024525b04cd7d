/** Programs of this machine that build images. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { StudioError } from '../common/errors.ts';
import { findProgram } from '../tools/findProgram.ts';
import type { Context } from './context.ts';

/** All have the same commands: `build --tag TAG FOLDER` and `push TAG`. */
export const BUILDERS = ['docker', 'podman', 'buildah', 'nerdctl'] as const;
const LAST_LINES = 3;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the path of a program that builds images, or undefined. Docker and nerdctl are often there without an engine
 * that answers; the next program counts then.
 */
export async function findBuilder(env: Environment, signal: AbortSignal): Promise<string | undefined> {
  const found = BUILDERS.flatMap((name) => findProgram([name], env) ?? []);
  for (const builder of found) {
    if (!NEED_ENGINE.has(path.basename(builder, '.exe')) || (await hasEngine(builder, env, signal))) return builder;
  }
  // Its own error says what is missing.
  return found[0];
}

/** Returns the name of a builder by its path. */
export function builderName(builder: string | undefined): string | undefined {
  return builder === undefined ? undefined : path.basename(builder, '.exe');
}

const NEED_ENGINE: ReadonlySet<string> = new Set(['docker', 'nerdctl']);
const ENGINE_MS = 10_000;

async function hasEngine(builder: string, env: Environment, signal: AbortSignal): Promise<boolean> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ENGINE_MS)]);
  const child = spawn(builder, ['version'], { stdio: 'ignore', env, signal: limit });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/**
 * Runs a command of a builder, and passes its output on as progress. Throws StudioError `unavailable` with the end of
 * its output if it fails.
 */
export async function runBuilder(context: Context, builder: string, args: readonly string[]): Promise<void> {
  const child = spawn(builder, args, { stdio: ['ignore', 'pipe', 'pipe'], env: context.env, signal: context.signal });
  const last: string[] = [];
  const read = (stream: NodeJS.ReadableStream): void => {
    createInterface(stream).on('line', (line) => {
      context.log(line);
      if (line.trim() !== '') last.push(line.trim());
      if (last.length > LAST_LINES) last.shift();
    });
  };
  read(child.stdout);
  read(child.stderr);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code === 0) return;
  const how = code === null ? (signal ?? 'ended') : `exit code ${code}`;
  throw new StudioError(
    'unavailable',
    [`${path.basename(builder)} ${args[0] ?? ''} failed (${how}).`, ...last].join(' '),
    { hint: `Correct that, or use another program on the written folder: ${BUILDERS.join(', ')}.` },
  );
}
