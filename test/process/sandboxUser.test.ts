// The sandbox of a user who is not root, also where the tests run as root: the kernel allows less there.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmdirSync } from 'node:fs';
import { test } from 'node:test';
import { sandboxSupport } from '../../src/tools/sandbox/open.ts';

/** An ordinary user of the machine. */
const USER = process.getuid?.() === 0 ? 54_321 : process.getuid?.();
const OPEN = new URL('../../src/tools/sandbox/open.ts', import.meta.url);

/** Opens a sandbox and runs a program in it. Prints what the program prints. */
const SCRIPT = `
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { openSandbox } from ${JSON.stringify(OPEN.href)};
const cwd = mkdtempSync('/tmp/sandbox-user-');
const view = { read: [], write: [cwd], hide: [], caches: [], scratch: cwd + '.sandbox', network: true };
const groups = { owner: '', add: () => undefined, remove: () => undefined };
const sandbox = await openSandbox({ mode: 'required' }, view, groups);
const { file, args } = sandbox.command({
  file: '/bin/sh', args: ['-c', 'id -u; pwd; touch /here || touch /usr/here || ls ' + process.argv[1]], cwd, setup: '',
});
const { stdout, stderr } = spawnSync(file, args, { encoding: 'utf8' });
await sandbox.end();
console.log(JSON.stringify({ cwd, stdout, stderr }));
`;

const support = await sandboxSupport();
const reads =
  USER !== undefined &&
  spawnSync(process.execPath, ['-e', `fs.readFileSync(${JSON.stringify(OPEN.pathname)})`], { uid: USER, gid: USER });
const skip = !support.works
  ? support.reason
  : process.platform !== 'linux'
    ? 'user namespaces are on Linux only'
    : reads !== false && reads.status === 0
      ? false
      : 'other users cannot read this checkout';

test('an ordinary user has a sandbox, in which programs run as that user', { skip, timeout: 60_000 }, () => {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', SCRIPT, import.meta.dirname],
    { uid: USER, gid: USER, cwd: '/', env: { PATH: process.env['PATH'], HOME: '/nonexistent' }, encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  const ran = JSON.parse(stdout) as { cwd: string; stdout: string; stderr: string };
  assert.deepEqual(ran.stdout.trim().split('\n'), [String(USER), ran.cwd], ran.stderr);
  assert.equal(ran.stderr.match(/Read-only file system/g)?.length, 2);
  assert.match(ran.stderr, /No such file/);
  rmdirSync(ran.cwd);
});
