// The start of every npm script. Runs on Node 20 or newer without any dependency: it installs the dependencies if the
// lock file has changed, bundles if a source has changed, and then runs the pinned Node.
//
//   node src/build/run.mjs <task> [arguments]      task = a file of this folder, or `rollout` for the command line
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const windows = process.platform === 'win32';
const pinnedNode = path.join(root, 'node_modules', 'node', 'bin', windows ? 'node.exe' : 'node');
const UNBUNDLED = new Set(['build', 'format', 'manifest', 'reference', 'watch']);

if (Number(process.versions.node.split('.')[0]) < 20) {
  console.error(`Rollout Studio needs Node 20 or newer to set itself up; this is ${process.version}.`);
  process.exit(2);
}

const [task, ...args] = process.argv.slice(2);
if (task === undefined) {
  console.error('usage: node src/build/run.mjs <task> [arguments]');
  process.exit(2);
}
// npm also runs `prepare` after each installation of dependencies, such as the one below.
if (task === 'prepare' && process.env.npm_config_global !== 'true') process.exit(0);
install();
if (!UNBUNDLED.has(task)) bundle();
if (task === 'prepare') process.exit(0); // npm install --global: the command is in dist
const script = task === 'rollout' ? path.join(root, 'dist', 'cli.mjs') : path.join(root, 'src', 'build', `${task}.ts`);
runPinnedNode(['--disable-warning=ExperimentalWarning', script, ...args]);

/** Installs the dependencies if the lock file has changed since the last installation. */
function install() {
  const lock = createHash('sha256')
    .update(readFileSync(path.join(root, 'package-lock.json')))
    .digest('hex');
  const stamp = path.join(root, 'node_modules', '.rollout-studio-lock');
  if (existsSync(pinnedNode) && existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  console.error('Installing dependencies (once; about 30 seconds)…');
  const npm = process.env.npm_execpath;
  const [command, first] = npm === undefined ? [windows ? 'npm.cmd' : 'npm', []] : [process.execPath, [npm]];
  const done = spawnSync(command, [...first, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    // Not those of `npm install --global`, which runs this as `prepare`.
    env: { ...process.env, npm_config_global: '', npm_config_prefix: '', npm_config_local_prefix: '' },
    stdio: ['ignore', 2, 2],
    shell: npm === undefined && windows,
  });
  if (done.status !== 0 || !existsSync(pinnedNode)) {
    console.error(
      'Cannot install the dependencies. See npm’s message above. ' + 'The first run needs access to an npm registry.',
    );
    process.exit(3);
  }
  writeFileSync(stamp, lock);
}

/** Bundles if a source is newer than the last bundling. */
function bundle() {
  const stamp = path.join(root, 'dist', '.stamp');
  const built = existsSync(stamp) ? statSync(stamp).mtimeMs : 0;
  if (built > newest([path.join(root, 'src'), path.join(root, 'webview'), path.join(root, 'package-lock.json')]))
    return;
  const done = spawnSync(
    pinnedNode,
    ['--disable-warning=ExperimentalWarning', path.join(root, 'src', 'build', 'build.ts')],
    { cwd: root, stdio: ['ignore', 2, 2] },
  );
  if (done.status !== 0) process.exit(done.status ?? 3);
  mkdirSync(path.dirname(stamp), { recursive: true });
  writeFileSync(stamp, '');
}

function newest(places) {
  let latest = 0;
  for (const place of places) {
    if (!existsSync(place)) continue;
    const stat = statSync(place);
    latest = Math.max(latest, stat.mtimeMs);
    if (stat.isDirectory()) latest = Math.max(latest, newest(readdirSync(place).map((name) => path.join(place, name))));
  }
  return latest;
}

/** Returns the folder in which `npm run rollout` was typed; npm itself changes to the folder of package.json. */
function callersFolder() {
  return process.env.npm_lifecycle_event === 'rollout' ? process.env.INIT_CWD : undefined;
}

/** Runs the pinned Node in place of this process: with the same input, output, signals, and exit code. */
function runPinnedNode(argv) {
  const child = spawn(pinnedNode, argv, {
    stdio: 'inherit',
    cwd: callersFolder(),
    env: { ...process.env, PATH: `${path.dirname(pinnedNode)}${path.delimiter}${process.env.PATH ?? ''}` },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // A terminal's Ctrl-C reaches the child directly; a signal to this process only is passed on.
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('error', (error) => {
    console.error(`The pinned Node did not start: ${error.message}`);
    process.exit(3);
  });
  child.on('exit', (code, signal) => {
    process.exit(code ?? (signal === 'SIGINT' ? 130 : 3));
  });
}
