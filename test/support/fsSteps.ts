/** Lets a test act between the steps of code that uses files: before any call of a function of `node:fs`. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

type Functions = Record<string, unknown>;

/** The functions of `node:fs` themselves, which no test intercepts. */
export const files = { ...fs, realpathNative: fs.realpathSync.native };

const SYNC = [
  ...['chmodSync', 'existsSync', 'lstatSync', 'mkdirSync', 'openSync', 'readdirSync', 'readlinkSync', 'renameSync'],
  ...['rmdirSync', 'statSync', 'unlinkSync', 'writeFileSync'],
];
const ASYNC = [
  ...[
    'access',
    'chmod',
    'copyFile',
    'lstat',
    'mkdir',
    'open',
    'opendir',
    'readdir',
    'readFile',
    'readlink',
    'realpath',
  ],
  ...['rename', 'rmdir', 'stat', 'symlink', 'truncate', 'unlink', 'writeFile'],
];

/** Runs `act` and calls `before` with the number of each step, from 0, and its path. Returns the number of steps. */
export async function inSteps(
  act: () => Promise<unknown>,
  before: (step: number, at: unknown) => void,
): Promise<number> {
  let step = 0;
  const undo: (() => void)[] = [];
  const intercept = (owner: Functions, names: readonly string[]): void => {
    for (const name of names) {
      const own = owner[name] as (...args: unknown[]) => unknown;
      owner[name] = Object.assign((...args: unknown[]) => {
        before(step++, args[0]);
        return own(...args);
      }, own);
      undo.push(() => (owner[name] = own));
    }
  };
  intercept(fs, SYNC);
  intercept(fs.realpathSync as unknown as Functions, ['native']);
  intercept(fs.promises, ASYNC);
  syncBuiltinESMExports();
  try {
    await act();
    return step;
  } finally {
    for (const one of undo) one();
    syncBuiltinESMExports();
  }
}
