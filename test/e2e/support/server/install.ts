/**
 * A real VS Code server from npm packages: `lib/vscode` of the package `code-server`, the dependencies that a server on
 * this platform loads, and stand-ins for four native modules. No compiler, no install scripts.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { root } from '../../../../src/build/bundles.ts';
import { npm } from '../../../../src/build/system/npm.ts';
import { findProgram } from '../../../../src/build/system/programs.ts';
import { NEEDED_PACKAGES, UNUSED_EXTENSIONS, UNUSED_FILES } from './parts.ts';
import { writeStandIns } from './standIns.ts';

const VERSION = '4.139.1';
const INTEGRITY = 'sha512-fUYvJVdz4ZoVJfakGiGWXFMpF8K1ObsrpGvX17ZxNpKOzdNHs7lANT670JTr4ZhA8DnWqyvvmFG/d3HV9Yy6ew==';
/** Increase it whenever this file or its neighbors produce something different. */
const STAMP = `${VERSION} 3`;
const QUIET = ['--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error'];

const packed = z.array(z.object({ filename: z.string(), integrity: z.string() })).length(1);
const locked = z.looseObject({
  version: z.string().optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
  optionalDependencies: z.record(z.string(), z.string()).optional(),
});
const lockFile = z.object({ packages: z.record(z.string(), locked) });
type Packages = z.infer<typeof lockFile>['packages'];

/** Returns the folder of the server (with `out/server-main.js`), and creates it where it is missing. */
export async function installCodeServer(): Promise<string> {
  const folder = path.join(root, 'test', '.out', 'vscode-server');
  const server = path.join(folder, 'server');
  const stamp = path.join(folder, 'stamp');
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === STAMP) return server;
  if (process.platform === 'win32')
    throw new Error('The end-to-end tests need Linux or macOS: code-server has no build for Windows.');
  await rm(folder, { recursive: true, force: true });
  const work = path.join(folder, 'work');
  await mkdir(work, { recursive: true });
  await unpack(fetchPackage(work), server);
  await installPackages(work, server);
  await installTypeScript(path.join(server, 'extensions'));
  await rm(work, { recursive: true, force: true });
  await writeFile(stamp, STAMP);
  return server;
}

function fetchPackage(work: string): string {
  const [info] = packed.parse(
    JSON.parse(
      npm(
        [
          'pack',
          `code-server@${VERSION}`,
          '--json',
          '--ignore-scripts',
          '--loglevel=error',
          '--pack-destination',
          work,
        ],
        work,
      ),
    ),
  );
  if (info?.integrity !== INTEGRITY)
    throw new Error(`code-server@${VERSION} is not the package it was: ${String(info?.integrity)}`);
  return path.join(work, info.filename);
}

async function unpack(tarball: string, server: string): Promise<void> {
  const inside = 'package/lib/vscode';
  await mkdir(server, { recursive: true });
  const left = [
    ...UNUSED_EXTENSIONS.map((name) => `${inside}/extensions/${name}`),
    `${inside}/out/vs/sessions`,
    '*.map',
  ];
  const done = spawnSync(
    'tar',
    ['-xzf', tarball, '-C', server, '--strip-components=3', ...left.map((name) => `--exclude=${name}`), inside],
    { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' },
  );
  if (done.status !== 0) throw new Error(`tar failed: ${done.stderr}`);
  const file = path.join(server, 'product.json');
  const product = z.record(z.string(), z.unknown()).parse(JSON.parse(await readFile(file, 'utf8')));
  await writeFile(
    file,
    JSON.stringify({
      ...product,
      enableTelemetry: false,
      builtInExtensionsEnabledWithAutoUpdates: [],
      trustedExtensionAuthAccess: [],
    }),
  );
}

/** The part of code-server's lock file that is reachable from the packages a server loads, with versions and hashes. */
async function installPackages(work: string, server: string): Promise<void> {
  const { packages } = lockFile.parse(JSON.parse(await readFile(path.join(server, 'npm-shrinkwrap.json'), 'utf8')));
  const roots = NEEDED_PACKAGES.filter((name) => packages[`node_modules/${name}`] !== undefined);
  const kept: Packages = {};
  for (const name of roots) keep(`node_modules/${name}`, packages, kept);
  const top = {
    name: 'vscode-server',
    dependencies: Object.fromEntries(roots.map((name) => [name, packages[`node_modules/${name}`]?.version ?? '*'])),
  };
  const folder = path.join(work, 'packages');
  await mkdir(folder);
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ ...top, private: true }));
  await writeFile(
    path.join(folder, 'package-lock.json'),
    JSON.stringify({ name: top.name, lockfileVersion: 3, requires: true, packages: { '': top, ...kept } }),
  );
  // The lock file was written without peer dependencies.
  npm(['ci', '--legacy-peer-deps', ...QUIET], folder);
  const modules = path.join(server, 'node_modules');
  await rename(path.join(folder, 'node_modules'), modules);
  for (const file of await readdir(modules, { recursive: true })) {
    if (UNUSED_FILES.some((pattern) => pattern.test(file)))
      await rm(path.join(modules, file), { recursive: true, force: true });
  }
  await writeStandIns(modules, findProgram('ripgrep') ?? 'rg');
}

function keep(key: string, packages: Packages, kept: Packages): void {
  const entry = packages[key];
  if (entry === undefined || kept[key] !== undefined) return;
  kept[key] = entry;
  for (const name of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })) {
    const found = resolve(key, name, packages);
    if (found !== undefined) keep(found, packages, kept);
  }
}

/** Where Node resolves package `name` from the package at `key`. */
function resolve(key: string, name: string, packages: Packages): string | undefined {
  for (let base = key; ; base = base.slice(0, Math.max(0, base.lastIndexOf('/node_modules/')))) {
    const place = `${base === '' ? '' : `${base}/`}node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (base === '') return undefined;
  }
}

/** Without it, the extensions for TypeScript and HTML complain as soon as such a file is opened. */
async function installTypeScript(extensions: string): Promise<void> {
  npm(['ci', ...QUIET], extensions);
  const lib = path.join(extensions, 'node_modules', 'typescript', 'lib');
  for (const file of await readdir(lib)) {
    if (
      !new RegExp(
        String.raw`^(_?tsserver\.js|typescript\.js|lib\..*d\.ts|_?typingsInstaller\.js|` +
          String.raw`package\.json|watchGuard\.js|typesMap\.json)$`,
      ).test(file)
    )
      await rm(path.join(lib, file), { recursive: true });
  }
}
