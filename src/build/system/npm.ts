import { spawnSync } from 'node:child_process';

/**
 * Runs npm (the same one that runs this process, if any) and returns what it printed. Throws with its message if it
 * fails.
 */
export function npm(args: readonly string[], cwd: string): string {
  const path = process.env['npm_execpath'];
  const options = { cwd, encoding: 'utf8', maxBuffer: 1 << 28 } as const;
  const done =
    path === undefined
      ? spawnSync(process.platform === 'win32' ? 'npm.cmd' : 'npm', args, options)
      : spawnSync(process.execPath, [path, ...args], options);
  if (done.status !== 0) throw new Error(`npm ${args[0] ?? ''} failed: ${done.error?.message ?? done.stderr.trim()}`);
  return done.stdout;
}
