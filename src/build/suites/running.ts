/** The tests that run at the moment, for the report of a run that is stopped. */
import path from 'node:path';
import type { run } from 'node:test';
import { root } from '../bundles.ts';

interface RunningFile {
  readonly started: number;
  /** Titles of suites and the test in them, from the outside in. */
  titles: readonly string[];
}

const files = new Map<string, RunningFile>();

/** Follows the events of a run, in which each file has its own process. */
export function follow(stream: ReturnType<typeof run>): void {
  stream.on('test:dequeue', ({ name, nesting, file = name }) => {
    const running = files.get(file);
    if (name === file) files.set(file, { started: Date.now(), titles: [] });
    else if (running !== undefined) running.titles = [...running.titles.slice(0, nesting), name];
  });
  stream.on('test:complete', ({ name, nesting, file = name }) => {
    const running = files.get(file);
    if (name === file) files.delete(file);
    else if (running !== undefined) running.titles = running.titles.slice(0, nesting);
  });
}

/** Returns a line for each file that runs: its path, for how many seconds, and the current test. */
export function runningTests(): string[] {
  return [...files].map(([file, { started, titles }]) =>
    [`${path.relative(root, file)} (${Math.round((Date.now() - started) / 1000)} s)`, ...titles].join(' › '),
  );
}
