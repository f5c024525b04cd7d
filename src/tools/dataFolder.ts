import os from 'node:os';
import path from 'node:path';

/** Returns the user's data folder of this product. Writers create it. */
export function dataFolder(env: NodeJS.ProcessEnv = process.env): string {
  const home = os.homedir();
  switch (process.platform) {
    case 'win32':
      return path.join(env['LOCALAPPDATA'] ?? path.join(home, 'AppData', 'Local'), 'rollout-studio');
    case 'darwin':
      return path.join(home, 'Library', 'Application Support', 'rollout-studio');
    default:
      return path.join(env['XDG_DATA_HOME'] ?? path.join(home, '.local', 'share'), 'rollout-studio');
  }
}
