/** Locations of the programs that other programs start: next to this code, as sources or as bundles. */
const SOURCES = {
  cli: 'src/cli/entry.ts',
  server: 'src/server/entry.ts',
  worker: 'src/worker/main.ts',
  reaper: 'src/worker/reaperMain.ts',
  moduleProcess: 'src/tools/modules/process/main.ts',
  toolServer: 'src/tools/toolServer/main.ts',
  toolRelay: 'src/tools/toolServer/relay/main.ts',
  toolThread: 'src/tools/modules/thread.ts',
  readerThread: 'src/tools/builtins/readerThread/thread.ts',
  checkpointThread: 'src/store/sqlite/checkpointThread.ts',
  template: 'src/client/published/template/main.ts',
  language: 'src/language/main.ts',
} as const;

/**
 * Node options for workers and other processes that run for long. V8 would let the space of young objects grow to 32 MB
 * (three times), so that a process uses several times the memory of its live objects. Four threads that collect garbage
 * together, Node's default, spend more on sharing the work than they save: with one, a step costs 9 % less CPU.
 */
export const LONG_RUNNING = optionsWith('--max-semi-space-size=16');
/** Node options for servers, which keep little of what they read. */
export const SERVER_OPTIONS = optionsWith('--max-semi-space-size=8');

function optionsWith(space: string): readonly string[] {
  return ['--disable-warning=ExperimentalWarning', space, '--v8-pool-size=1'];
}

/**
 * Environment variables for the same processes. With glibc, each thread keeps freed memory of its own: all from one
 * arena is some 20 MB less in server and worker, for no more CPU.
 */
export const LONG_RUNNING_ENV = { MALLOC_ARENA_MAX: '1' } as const;
/** The environment variable of a server with the content of the file of `--shares`, as JSON. */
export const SHARES_VARIABLE = 'ROLLOUT_SHARES';
/**
 * For `v8.setFlagsFromString` in the same processes: the old space is collected when it has grown by this share over
 * its live objects. Marking them was the largest item of a worker's CPU at 40 %; at these shares, both processes
 * together still need no more than 400 MB for 64 rollouts.
 */
export const HEAP_GROWTH = {
  server: '--heap-growing-percent=70',
  worker: '--heap-growing-percent=100',
  tools: '--heap-growing-percent=40',
} as const;

export type Entry = keyof typeof SOURCES;

/**
 * Returns the file of an entry in this installation. Sources start sources, unless `ROLLOUT_USE_BUNDLES` is set: the
 * tests set it, because bundles start in a third of the time.
 */
export function entryUrl(entry: Entry): URL {
  const here = import.meta.url;
  if (here.endsWith('.ts'))
    return new URL(
      process.env['ROLLOUT_USE_BUNDLES'] === '1' ? `../../dist/${entry}.mjs` : `../../${SOURCES[entry]}`,
      here,
    );
  return new URL(`${here.includes('/chunks/') ? '../' : './'}${entry}.mjs`, here);
}

/** Returns the folder that contains the programs with all files that they load. */
export function programsFolder(): URL {
  const isSource = entryUrl('worker').href.endsWith('.ts');
  return isSource ? packageUrl('') : new URL('./', entryUrl('worker'));
}

/** The Python program that runs code worlds, in the installed package. */
export const WORLD_RUNNER = 'media/python/world_runner.py';

/** Returns a folder of the installed package, such as `media/sample`. */
export function packageUrl(folder: string): URL {
  const here = import.meta.url;
  if (here.endsWith('.ts')) return new URL(`../../${folder}`, here);
  return new URL(`${here.includes('/chunks/') ? '../../' : '../'}${folder}`, here);
}

/** Variable of a server with the rules by which it removes batches, as JSON. */
export const RETENTION_VARIABLE = 'ROLLOUT_RETENTION';
