/**
 * How long VS Code waits for the extension: the activation time in its own list of running extensions, with the last
 * built package, in a new window each round. The baseline is a Node process that reads and compiles the same modules,
 * and runs none of them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../../../src/build/bundles.ts';
import { VsCode } from '../../e2e/support/vscode.ts';
import { median, rounds, spread, table } from '../support/table.ts';

const ENTRY = path.join(root, 'dist', 'extension.mjs');
const NAME = 'Rollout Studio';

/** The module and its static imports; dynamic imports come later. */
function modulesOf(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, named] of readFileSync(file, 'utf8').matchAll(/\b(?:from|import)"(\.[^"]+\.mjs)"/g))
    modulesOf(path.join(path.dirname(file), named ?? ''), found);
  return found;
}

function compiled(files: Iterable<string>): number {
  const code =
    "const fs = require('node:fs'); const vm = require('node:vm'); const t = performance.now(); for (const file " +
    "of process.argv.slice(1)) new vm.SourceTextModule(fs.readFileSync(file, 'utf8'), { identifier: file }); " +
    'console.log(performance.now() - t)';
  return Number(
    spawnSync(
      process.execPath,
      ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', '-e', code, ...files],
      { encoding: 'utf8' },
    ).stdout,
  );
}

/** Milliseconds, in a window that was just opened. */
async function activated(workspaceFolder: string): Promise<number> {
  const code = await VsCode.start({ workspaceFolder });
  try {
    await code.workbench.command('Rollout: Show Log');
    await code.workbench.command('Developer: Show Running Extensions');
    const row = code.page.locator('.runtime-extensions-editor .extension').filter({ hasText: NAME });
    const time = row.locator('.activation-time');
    await time.filter({ hasText: /\d+\s*ms/ }).waitFor({ timeout: 60_000 });
    return Number(/(\d+)\s*ms/.exec(await time.innerText())?.[1] ?? Number.NaN);
  } finally {
    await code.close();
  }
}

if (!existsSync(path.join(root, 'dist', 'rollout-studio.vsix')))
  throw new Error('There is no package to install: npm run package makes one.');
const workspaceFolder = mkdtempSync(path.join(os.tmpdir(), 'rollout-bench-'));
const times = { bare: [] as number[], activation: [] as number[] };
try {
  for (let round = 0; round < rounds(3); round++) {
    times.bare.push(compiled(modulesOf(ENTRY)));
    times.activation.push(await activated(workspaceFolder));
  }
} finally {
  rmSync(workspaceFolder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
}
console.log(
  table(
    [
      ['what', 'ms (min / median / max)', 'of the baseline'],
      ['baseline: its modules read and compiled, not run', spread(times.bare, 1), '1.0'],
      [
        'activation, as VS Code says',
        spread(times.activation, 0),
        (median(times.activation) / median(times.bare)).toFixed(1),
      ],
    ],
    [1, 2],
  ),
);
console.log('Bound: 100 ms.');
