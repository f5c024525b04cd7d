/** Opens URLs with the default program of the system. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { errorText, StudioError } from '../common/errors.ts';

/** Resolves when the opener has started. Throws StudioError `unavailable` if it cannot be started. */
export async function openExternal(url: string, platform: NodeJS.Platform = process.platform): Promise<void> {
  const [command, ...args] = openerOf(url, platform);
  const child = spawn(command, args, { stdio: 'ignore', detached: true, windowsHide: true });
  try {
    await once(child, 'spawn');
  } catch (cause) {
    throw new StudioError('unavailable', `Could not open a browser: ${errorText(cause)}.`, {
      hint: 'Open the URL manually.',
      cause,
    });
  }
  child.on('error', () => undefined); // later errors are up to the opener
  child.unref();
}

/** Returns the command that opens a URL without a shell, which would interpret `&` and `#`. */
export function openerOf(url: string, platform: NodeJS.Platform): readonly [string, ...string[]] {
  if (platform === 'darwin') return ['open', url];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url];
  return ['xdg-open', url];
}
