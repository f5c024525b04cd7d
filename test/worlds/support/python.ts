/** The Python of this suite: a virtual environment that `rollout world setup` makes, and a server for comparisons. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pythonState, setUpPython } from '../../../src/tools/python/setup.ts';

const ENVIRONMENT = path.join(import.meta.dirname, '..', '..', '.out', 'python');
/** A plain HTTP server for the same application. The product does not need it. */
const SERVER = ['uvicorn==0.54.0', 'click==8.5.1', 'h11==0.16.0'];

/** Returns the interpreter. The environment is made once and kept; files that run at the same time wait for it. */
export async function testPython(): Promise<string> {
  mkdirSync(path.dirname(ENVIRONMENT), { recursive: true });
  // A database as a lock: it is free again when the process that holds it ends, however that happens.
  const lock = new DatabaseSync(`${ENVIRONMENT}.lock`);
  try {
    lock.exec('PRAGMA busy_timeout = 300000; BEGIN EXCLUSIVE');
    return await preparedPython();
  } finally {
    lock.close();
  }
}

async function preparedPython(): Promise<string> {
  const { state, python } = await pythonState(ENVIRONMENT);
  if (state !== 'ready') await setUpPython({ environment: ENVIRONMENT, signal: AbortSignal.timeout(300_000) });
  if (spawnSync(python, ['-c', 'import uvicorn']).status !== 0) {
    const args = ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--no-deps', ...SERVER];
    const installed = spawnSync(python, args, { encoding: 'utf8' });
    if (installed.status !== 0) throw new Error(`Cannot install a server for comparisons:\n${installed.stderr}`);
  }
  return python;
}
