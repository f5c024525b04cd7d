/** The suite of code worlds, which needs Python on the machine; its packages it installs itself. */
import { spawnSync } from 'node:child_process';
import { PYTHONS } from '../../tools/processes/processTree.ts';

export const WORLDS = 'worlds';

/** Returns why the suite cannot run; undefined if it can. */
export function missingPython(): string | undefined {
  const check = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))';
  const isThere = PYTHONS.some((python) => spawnSync(python, ['-c', check]).status === 0);
  return isThere ? undefined : 'it needs Python 3.10 or later with venv.';
}
