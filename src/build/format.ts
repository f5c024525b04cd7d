/** `npm run format`: formats src, webview, and test, and sorts their imports. `npm run check` checks the same. */
import { spawnSync } from 'node:child_process';
import { biome, root } from './bundles.ts';

const { status } = spawnSync(process.execPath, [biome, 'check', '--write', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
process.exit(status ?? 1);
