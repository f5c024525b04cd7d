import path from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';

/**
 * Bundles what a page begins with: one file of its own, which loads `program`, the entries of this build. It is told as
 * `__PROGRAM__` which files they are made of, to ask for all at once.
 */
export function pageStart(entry: string, program: readonly string[]): Plugin {
  return {
    name: 'page-start',
    setup(parts) {
      const options = parts.initialOptions;
      options.metafile = true;
      parts.onEnd(async ({ metafile }) => {
        if (metafile === undefined) return; // the build failed, and says so
        const made = new Map(program.map((source) => [path.resolve(options.absWorkingDir ?? '.', source), outputOf(metafile, source)]));
        const files = new Set([...made.values()].flatMap((file) => [...filesOf(metafile, file)]));
        const start = await build({
          ...options, metafile: true, entryPoints: [{ in: entry, out: path.parse(entry).name }], entryNames: '[name]', splitting: false,
          define: { ...options.define, __PROGRAM__: JSON.stringify([...files].map(beside)) },
          banner: {}, // there is no zod in it
          plugins: [loadedFrom(made)],
        });
        Object.assign(metafile.outputs, start.metafile.outputs);
      });
    },
  };
}

/** `import(…)` of a source is one of the file that was made of it. */
function loadedFrom(made: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'loaded-from',
    setup(build) {
      build.onResolve({ filter: /^\./ }, ({ path: name, resolveDir, kind }) => {
        const file = kind === 'dynamic-import' ? made.get(path.resolve(resolveDir, name)) : undefined;
        return file === undefined ? undefined : { path: beside(file), external: true };
      });
    },
  };
}

function beside(file: string): string {
  return `./${path.posix.basename(file)}`;
}

function outputOf({ outputs }: Metafile, source: string): string {
  const found = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === source)?.[0];
  if (found === undefined) throw new Error(`${source} is no entry`);
  return found;
}

/** A file and all that it imports at once. */
function filesOf(metafile: Metafile, file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const { path: other, kind } of metafile.outputs[file]?.imports ?? []) if (kind === 'import-statement') filesOf(metafile, other, found);
  return found;
}
