import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../bundles.ts';
import { NODE_OPTIONS } from '../suites/runFiles.ts';
import { kitFolder } from './kits.ts';
import { installPrograms } from './programs.ts';

/**
 * Prepares VS Code, a browser to view it, and the extension in it. Sets `ROLLOUT_VSIX`, and does nothing if it is set
 * already. Returns why that is impossible, if it is.
 */
export function prepareVsCode(): string | undefined {
  if (process.env['ROLLOUT_VSIX'] !== undefined) return undefined;
  const missing = installPrograms(['chromium', 'ripgrep']);
  if (missing !== undefined) return missing;
  for (const script of ['src/build/package.ts', 'test/e2e/support/setup.ts']) {
    const done = spawnSync(process.execPath, [...NODE_OPTIONS, path.join(root, script)], {
      cwd: root,
      stdio: 'inherit',
    });
    if (done.status !== 0) return `${script} failed.`;
  }
  process.env['ROLLOUT_VSIX'] = path.join(root, 'dist', 'rollout-studio.vsix');
  // If real recordings are available, one of them is imported instead of the small one.
  const recordings = kitFolder('recordings');
  if (recordings !== undefined)
    process.env['ROLLOUT_RECORDING'] ??= path.join(recordings, 'tau-bench', 'gpt-4o-airline.json');
  return undefined;
}
