/** Platform differences of processes and their children. */
import { spawn } from 'node:child_process';

/** Whether a child leads its own process group. Windows has no groups and would open a console. */
export const OWN_GROUP = process.platform !== 'win32';

/** Kills the group that `pid` leads (on Windows, its process tree). Ignores processes that have already exited. */
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

/** ESRCH: no such group. EPERM (macOS): only zombies are left. */
function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM');
}

/** Returns how to run a command line in the platform's shell, for the `terminal` tool. */
export function shellCommand(
  command: string,
  env: Readonly<Record<string, string>>,
): { readonly file: string; readonly args: readonly string[]; readonly verbatim: boolean } {
  if (process.platform !== 'win32') return { file: '/bin/sh', args: ['-c', command], verbatim: false };
  // cmd.exe uses the rest of its command line verbatim; the usual quoting would change it.
  return {
    file: env['COMSPEC'] ?? env['ComSpec'] ?? 'cmd.exe',
    args: ['/d', '/s', '/c', `"${command}"`],
    verbatim: true,
  };
}

/** Names under which Python 3 may be installed, best first. */
export const PYTHONS: readonly string[] = process.platform === 'win32' ? ['python', 'py'] : ['python3', 'python'];
