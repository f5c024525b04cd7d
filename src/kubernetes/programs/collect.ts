/** Collects the files of this installation that a program in a pod needs. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Entry, packageUrl, WORLD_RUNNER } from '../../common/entries.ts';
import { StudioError } from '../../common/errors.ts';
import type { ProgramFile } from './archive.ts';

/** The programs of a worker's pod: the worker and those that it starts. */
export const WORKER_PROGRAMS: readonly Entry[] = [
  'worker',
  'reaper',
  'moduleProcess',
  'toolServer',
  'toolRelay',
  'toolThread',
  'readerThread',
];
/** The programs of the server's pod, which also sends those of workers to them. */
export const SERVER_PROGRAMS: readonly Entry[] = ['server', 'checkpointThread', ...WORKER_PROGRAMS];

/** Matches a bundle in an import of either kind. Too many matches do no harm. */
const IMPORTED = /["'](\.{1,2}\/(?:[\w-]+\/)*[\w-]+\.mjs)["']/g;

/**
 * Reads the bundles of `entries`, with everything they load, from `dist`; throws StudioError `unavailable` if they are
 * not built.
 */
export async function programFiles(entries: readonly Entry[], dist: string = distFolder()): Promise<ProgramFile[]> {
  const found = new Map<string, Buffer>();
  const waiting = entries.map((entry) => `${entry}.mjs`);
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    const bytes = await bundle(dist, name);
    found.set(name, bytes);
    for (const [, to = ''] of bytes.toString('utf8').matchAll(IMPORTED))
      waiting.push(path.posix.join(path.posix.dirname(name), to));
  }
  const programs = [...found].map(([name, bytes]) => ({ path: `dist/${name}`, bytes }));
  return entries.includes('worker') ? [...programs, await pythonFile()] : programs;
}

/** Reads the program that runs code worlds. */
async function pythonFile(): Promise<ProgramFile> {
  return { path: WORLD_RUNNER, bytes: await readFile(packageUrl(WORLD_RUNNER)) };
}

/** Reads the pages for browsers, without source maps. */
export async function pageFiles(dist: string = distFolder()): Promise<ProgramFile[]> {
  const folder = path.join(dist, 'webview');
  const names = (await readdir(folder).catch(notBuilt)).filter((name) => !name.endsWith('.map'));
  return await Promise.all(
    names.map(async (name) => ({ path: `dist/webview/${name}`, bytes: await readFile(path.join(folder, name)) })),
  );
}

function distFolder(): string {
  return fileURLToPath(packageUrl('dist'));
}

async function bundle(dist: string, name: string): Promise<Buffer> {
  return await readFile(path.join(dist, ...name.split('/'))).catch(notBuilt);
}

function notBuilt(cause: unknown): never {
  throw new StudioError('unavailable', 'This installation has no programs for pods.', {
    hint: 'In a checkout, run `npm run build`.',
    cause,
  });
}
