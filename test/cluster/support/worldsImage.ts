/** An image for pods that run code worlds: Node.js, Python, and the packages, from the programs of this machine. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { missingPython } from '../../../src/build/system/python.ts';
import { testPython } from '../../worlds/support/python.ts';
import type { Site } from './site.ts';

/** Names the image where the cluster is not the kit's. */
const VARIABLE = 'ROLLOUT_WORLDS_IMAGE';
const NAME = 'localhost/worlds:local';
/** Where an image's PATH leads. */
const PROGRAMS = '/usr/local/bin';
/** Large parts of the libraries that worlds do not need. */
const LEFT_OUT = new Set([
  ...['test', 'idlelib', 'lib2to3', 'ensurepip', 'tkinter', 'turtledemo', 'site-packages', 'dist-packages'],
  ...['pip', 'setuptools', '__pycache__'],
]);

const ABOUT = `
import json, os, sys, sysconfig
print(json.dumps({
  'program': os.path.realpath(sys.executable),
  'library': sysconfig.get_path('stdlib'),
  'packages': sysconfig.get_path('purelib'),
}))`;
const about = z.object({ program: z.string(), library: z.string(), packages: z.string() });

export interface WorldsImage {
  readonly name: string;
  remove(): void;
}

/** Returns the image, or what is missing. */
export async function worldsImage({ kit, nodes }: Site): Promise<WorldsImage | string> {
  const noPython = missingPython();
  if (noPython !== undefined) return `This machine has no Python: ${noPython}`;
  if (kit === undefined) {
    const name = process.env[VARIABLE] ?? '';
    return name === ''
      ? `${VARIABLE} names no image that nodes can pull, with Node.js, Python, and the packages of code worlds.`
      : { name, remove: () => undefined };
  }
  const root = mkdtempSync(path.join(os.tmpdir(), 'worlds-image-'));
  try {
    await fill(root);
    kit.makeImage(NAME, root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  return {
    name: NAME,
    remove: () => {
      for (const node of nodes) kit.image(node, 'rm', NAME);
    },
  };
}

/** Writes the files of the image. */
async function fill(root: string): Promise<void> {
  const inRoot = (file: string): string => path.join(root, file);
  const environment = await testPython();
  const { program, library, packages: installed } = described(environment);
  const { packages } = described(program);
  for (const folder of ['tmp', 'proc', 'sys', 'dev', 'etc', 'bin', PROGRAMS])
    mkdirSync(inRoot(folder), { recursive: true });
  const shell = '/bin/busybox'; // needs no libraries; the kit's own image has it, too
  if (existsSync(shell)) {
    copyFileSync(shell, inRoot(shell));
    symlinkSync('busybox', inRoot('/bin/sh'));
  }
  copy(program, inRoot(program));
  symlinkSync(program, inRoot(`${PROGRAMS}/python3`));
  copy(process.execPath, inRoot(`${PROGRAMS}/node`));
  for (const [from, to] of [
    [library, library],
    [installed, packages],
  ] as const)
    cpSync(from, inRoot(to), {
      recursive: true,
      filter: (file) => file === from || !LEFT_OUT.has(path.basename(file)),
    });
  const native = [library, installed].flatMap((folder) =>
    globSync('**/*.so', { cwd: folder, exclude: (name) => LEFT_OUT.has(path.basename(name)) }).map((name) =>
      path.join(folder, name),
    ),
  );
  for (const file of librariesOf([program, process.execPath, ...native])) copy(file, inRoot(file));
  // Pods cannot write what they compile, and the image does not keep the times of files.
  const compiled = packages.startsWith(library) ? [library] : [library, packages];
  run(program, ['-m', 'compileall', '-q', '--invalidation-mode', 'unchecked-hash', ...compiled.map(inRoot)]);
}

function described(python: string): z.infer<typeof about> {
  return about.parse(JSON.parse(run(python, ['-c', ABOUT])));
}

/** Returns the shared libraries that programs load. */
function librariesOf(files: readonly string[]): Set<string> {
  const found = run('ldd', files).matchAll(/^\t(?:\S+ => )?(\/\S+) \(/gm);
  return new Set(Array.from(found, ([, file = '']) => file));
}

function copy(from: string, to: string): void {
  mkdirSync(path.dirname(to), { recursive: true });
  copyFileSync(from, to);
}

function run(command: string, args: readonly string[]): string {
  const done = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  assert.equal(done.status, 0, `${command} ${args[0] ?? ''}: ${done.stderr}`);
  return done.stdout;
}
