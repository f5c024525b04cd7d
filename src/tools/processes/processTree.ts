/** Processes with all their children: what differs between systems about them. */
import { spawn } from 'node:child_process';

/** Whether a child is started as the leader of a group of its own. Windows has no groups, and would open a console. */
export const OWN_GROUP = process.platform !== 'win32';

/** Ends the group that `pid` leads at once (on Windows: its process tree). What is gone already is no error. */
export function killTree(pid: number): void {
  if (process.platform === 'win32') {
    spawn('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore', windowsHide: true }).on(
      'error',
      () => undefined,
    );
    return;
  }
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** ESRCH: no such group. EPERM (macOS): what is left of it are zombies. */
function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM');
}

/** How a command line is run by the platform's shell: what the `terminal` tool is for. */
export function shellCommand(
  command: string,
  env: Readonly<Record<string, string>>,
): { readonly file: string; readonly args: readonly string[]; readonly verbatim: boolean } {
  if (process.platform !== 'win32') return { file: '/bin/sh', args: ['-c', command], verbatim: false };
  // cmd.exe takes the rest of its command line as it is; quoting it the usual way would change it.
  return {
    file: env['COMSPEC'] ?? env['ComSpec'] ?? 'cmd.exe',
    args: ['/d', '/s', '/c', `"${command}"`],
    verbatim: true,
  };
}

/** Names under which Python 3 may be installed, best first. */
export const PYTHONS: readonly string[] = process.platform === 'win32' ? ['python', 'py'] : ['python3', 'python'];
