/** Opens an address with whatever this system opens addresses with. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { errorText, StudioError } from '../common/errors.ts';

/** Resolves once the opener runs. Throws `unavailable` when there is none. */
export async function openExternal(url: string, platform: NodeJS.Platform = process.platform): Promise<void> {
  const [command, ...args] = openerOf(url, platform);
  const child = spawn(command, args, { stdio: 'ignore', detached: true, windowsHide: true });
  try {
    await once(child, 'spawn');
  } catch (cause) {
    throw new StudioError('unavailable', `No browser could be opened: ${errorText(cause)}.`, {
      hint: 'Open the address yourself.',
      cause,
    });
  }
  child.on('error', () => undefined); // it runs: what becomes of it is between it and the user
  child.unref();
}

/** Without a shell, which would read the `&` and `#` of an address as its own. */
export function openerOf(url: string, platform: NodeJS.Platform): readonly [string, ...string[]] {
  if (platform === 'darwin') return ['open', url];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url];
  return ['xdg-open', url];
}
