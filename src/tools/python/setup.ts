/** Makes the Python environment of code worlds: a virtual environment with pinned packages. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { cancelled } from '../../common/abort.ts';
import { packageUrl } from '../../common/entries.ts';
import { allowedEnvironment } from '../../common/environment.ts';
import { isMissing, StudioError } from '../../common/errors.ts';
import { findProgram } from '../findProgram.ts';
import { LastLines } from '../processes/output.ts';
import { PYTHONS } from '../processes/processTree.ts';
import { interpreterOf, pythonEnvironment, readyFile } from './worldPython.ts';

const MIN_PYTHON = [3, 10] as const;
/** Fails if the packages cannot be used. */
export const IMPORTS = 'import fastapi, pydantic, sqlalchemy';
/** How much of the output of a step that failed is shown. */
const LINES = 12;
/** Variables with which people configure pip. */
const PIP = /^(PIP_\w+|HTTPS?_PROXY|NO_PROXY)$/i;

export interface PythonState {
  readonly state: 'ready' | 'old' | 'none';
  /** The interpreter that worlds use. */
  readonly python: string;
}

/** Returns the pinned packages, one a line. */
export async function pinnedPackages(): Promise<string[]> {
  const text = await readFile(fileURLToPath(packageUrl('media/python/requirements.txt')), 'utf8');
  return text.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#'));
}

/** Returns whether the environment is there, with the packages of this version of the product. */
export async function pythonState(environment: string = pythonEnvironment()): Promise<PythonState> {
  const python = interpreterOf(environment);
  const packages = (await pinnedPackages()).join('\n');
  const ready = await readFile(readyFile(environment), 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  return { state: ready === undefined ? 'none' : ready.trim() === packages ? 'ready' : 'old', python };
}

/**
 * Makes the environment. `onOutput` receives what its programs print. Returns its interpreter. Throws StudioError
 * `unavailable` with what is missing.
 */
export async function setUpPython({
  environment = pythonEnvironment(),
  env = process.env,
  onOutput = () => undefined,
  signal,
}: {
  readonly environment?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly onOutput?: (text: string) => void;
  readonly signal: AbortSignal;
}): Promise<string> {
  const base = findProgram(PYTHONS, env);
  if (base === undefined)
    throw new StudioError('unavailable', 'Python was not found.', { hint: 'Install Python 3.10 or later.' });
  const allowed = allowedEnvironment(
    env,
    Object.keys(env).filter((name) => PIP.test(name)),
  );
  const run = (file: string, args: readonly string[], failure: StudioError): Promise<string> =>
    runStep({ file, args, env: allowed, onOutput, failure, signal });
  const version = await run(
    base,
    ['-c', 'import sys; print(*sys.version_info[:2])'],
    new StudioError('unavailable', `${base} does not run.`, { hint: 'Install Python 3.10 or later.' }),
  );
  const [major = 0, minor = 0] = version.trim().split(' ').map(Number);
  if (major < MIN_PYTHON[0] || (major === MIN_PYTHON[0] && minor < MIN_PYTHON[1]))
    throw new StudioError('unavailable', `${base} is Python ${major}.${minor}, which is too old.`, {
      hint: 'Install Python 3.10 or later.',
    });
  await rm(readyFile(environment), { force: true });
  const python = interpreterOf(environment);
  await run(
    base,
    ['-m', 'venv', '--clear', environment],
    new StudioError('unavailable', `Cannot make a virtual environment in ${environment}.`, {
      hint: 'On Debian and Ubuntu, install python3-venv.',
    }),
  );
  const packages = await pinnedPackages();
  await run(
    python,
    ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--no-deps', ...packages],
    new StudioError('unavailable', 'The packages of worlds cannot be installed.', {
      hint: 'Check the connection to the package index that pip is configured for, then run it again.',
    }),
  );
  await run(
    python,
    ['-c', IMPORTS],
    new StudioError('unavailable', 'The packages of worlds were installed, but cannot be imported.', {
      hint: `Remove ${environment} and run it again.`,
    }),
  );
  await writeFile(readyFile(environment), `${packages.join('\n')}\n`);
  return python;
}

interface Step {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly onOutput: (text: string) => void;
  readonly failure: StudioError;
  readonly signal: AbortSignal;
}

async function runStep({ file, args, env, onOutput, failure, signal }: Step): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  const stop = (): void => void child.kill();
  signal.addEventListener('abort', stop, { once: true });
  const last = new LastLines();
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    last.push(text);
    onOutput(text);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    last.push(text);
    onOutput(text);
  });
  try {
    await once(child, 'close');
  } catch (cause) {
    throw new StudioError(failure.code, failure.message, { hint: failure.hint ?? '', cause });
  } finally {
    signal.removeEventListener('abort', stop);
  }
  if (child.killed) throw cancelled(signal);
  if (child.exitCode === 0) return printed;
  const said = last.last(LINES);
  throw new StudioError(failure.code, said === '' ? failure.message : `${failure.message} It printed:\n${said}`, {
    hint: failure.hint ?? '',
  });
}
