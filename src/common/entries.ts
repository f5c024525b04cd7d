/** Where the programs that other programs start are: beside this code, as sources or as bundles. */
const SOURCES = {
  cli: 'src/cli/main.ts',
  server: 'src/server/main.ts',
  worker: 'src/worker/main.ts',
  reaper: 'src/worker/reaperMain.ts',
  toolThread: 'src/tools/modules/thread.ts',
} as const;

export type Entry = keyof typeof SOURCES;

/** The file of an entry, for this very installation. */
export function entryUrl(entry: Entry): URL {
  const here = import.meta.url;
  if (here.endsWith('.ts')) return new URL(`../../${SOURCES[entry]}`, here);
  return new URL(`${here.includes('/chunks/') ? '../' : './'}${entry}.mjs`, here);
}

/** A folder of the installed package, e.g. `media/sample`. */
export function packageUrl(folder: string): URL {
  const here = import.meta.url;
  if (here.endsWith('.ts')) return new URL(`../../${folder}`, here);
  return new URL(`${here.includes('/chunks/') ? '../../' : '../'}${folder}`, here);
}
