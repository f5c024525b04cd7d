/** Working directories of local workers: `<work>/<worker>`, removed with the worker. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { isAlive, pidOf } from './workerProcess.ts';

/** A tool that is being killed may still use its folder (Windows then refuses to remove it). */
const REMOVE = { recursive: true, force: true, maxRetries: 10, retryDelay: 200 } as const;

export function workFolder(work: string, worker: string): string {
  return path.join(work, worker);
}

export async function removeWorkFolder(work: string, worker: string): Promise<void> {
  await rm(workFolder(work, worker), REMOVE);
}

/** Removes the folders of workers that no longer run. */
export async function removeLeftovers(work: string): Promise<void> {
  await mkdir(work, { recursive: true, mode: 0o700 });
  for (const name of await readdir(work)) {
    const pid = pidOf(name);
    if (pid !== undefined && !isAlive(pid)) await removeWorkFolder(work, name);
  }
}
