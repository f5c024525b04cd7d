/** Where the Python of code worlds is: what `rollout world setup` made, or the one on the PATH. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { dataFolder } from '../dataFolder.ts';
import { findProgram } from '../findProgram.ts';
import { PYTHONS } from '../processes/processTree.ts';

/** The folder of the virtual environment that `rollout world setup` makes. */
export function pythonEnvironment(): string {
  return path.join(dataFolder(), 'python');
}

/** Returns the file that says that an environment is complete, and which packages it has. */
export function readyFile(environment: string): string {
  return path.join(environment, 'ready.txt');
}

/** Returns the interpreter of a virtual environment. */
export function interpreterOf(environment: string): string {
  return process.platform === 'win32'
    ? path.join(environment, 'Scripts', 'python.exe')
    : path.join(environment, 'bin', 'python');
}

/** Returns the interpreter of worlds; undefined if this machine has none. `chosen`: what the world file names. */
export function worldPython(
  env: Readonly<Record<string, string | undefined>>,
  chosen?: string,
  environment: string = pythonEnvironment(),
): string | undefined {
  if (chosen !== undefined) {
    if (!path.isAbsolute(chosen)) return findProgram([chosen], env);
    return existsSync(chosen) ? chosen : undefined;
  }
  return existsSync(readyFile(environment)) ? interpreterOf(environment) : findProgram(PYTHONS, env);
}

/**
 * Returns the interpreter of worlds in another container with the same image as this one; undefined if the image has
 * none. `chosen`: what the world file names. Its path may be that of the machine that submitted the world.
 */
export function imagePython(
  env: Readonly<Record<string, string | undefined>>,
  chosen: string | undefined,
): string | undefined {
  if (chosen !== undefined && !path.isAbsolute(chosen)) return findProgram([chosen], env);
  return chosen !== undefined && existsSync(chosen) ? chosen : findProgram(PYTHONS, env);
}

/** Returns the folders outside of the system's that an interpreter reads: its environment, and the base of that. */
export function interpreterReads(python: string): string[] {
  if (!path.isAbsolute(python)) return [];
  const environment = path.dirname(path.dirname(python));
  const config = path.join(environment, 'pyvenv.cfg');
  const home = existsSync(config) ? /^home *= *(.+)$/m.exec(readFileSync(config, 'utf8'))?.[1]?.trim() : undefined;
  const prefixes = [realpathSync(python), ...(home === undefined ? [] : [path.join(home, 'python')])].map((file) =>
    path.dirname(path.dirname(file)),
  );
  return [...new Set([...(home === undefined ? [] : [environment]), ...prefixes])].filter(
    (folder) => !/^\/(usr|bin|sbin|lib|opt)?$/.test(folder) && existsSync(folder),
  );
}
