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

/** Returns the path of a program that builds images, or undefined. */
export function findBuilder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  return findProgram(BUILDERS, env);
}

/** Returns the name of that program, or undefined. */
export function builderName(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const found = findBuilder(env);
  return found === undefined ? undefined : path.basename(found, '.exe');
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
