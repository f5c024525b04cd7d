import path from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { addBundled } from '../notices/bundledPackages.ts';

/**
 * Bundles what a page begins with: a file `entry`, and `alone`, what only some pages need before all else. Each is one
 * file that shares nothing. They load `program`, the entries of this build, and are told as `__PROGRAM__` which files
 * that is made of, to ask for all at once.
 */
export function pageStart(entry: string, alone: readonly string[], program: readonly string[]): Plugin {
  return {
    name: 'page-start',
    setup(parts) {
      const options = parts.initialOptions;
      options.metafile = true;
      parts.onEnd(async ({ metafile }) => {
        if (metafile === undefined) return; // the build failed, and says so
        const files = new Set(program.flatMap((source) => [...filesOf(metafile, outputOf(metafile, source))]));
        const built: Metafile = { inputs: {}, outputs: { ...metafile.outputs } };
        const start: BuildOptions & { readonly metafile: true } = {
          ...options,
          metafile: true,
          splitting: false,
          define: { ...options.define, __PROGRAM__: JSON.stringify([...files].map(beside)) },
          banner: {}, // there is no zod in it
          plugins: [loadedFrom(built, options.absWorkingDir ?? '.')],
        };
        Object.assign(built.outputs, (await build({ ...start, entryPoints: [...alone] })).metafile.outputs);
        Object.assign(
          built.outputs,
          (await build({ ...start, entryPoints: [{ in: entry, out: path.parse(entry).name }], entryNames: '[name]' }))
            .metafile.outputs,
        );
        addBundled(built, options.absWorkingDir ?? '.');
        Object.assign(metafile.outputs, built.outputs);
      });
    },
  };
}

/** `import(…)` of a source is one of the file that was made of it. */
function loadedFrom(built: Metafile, folder: string): Plugin {
  return {
    name: 'loaded-from',
    setup(build) {
      build.onResolve({ filter: /^\./ }, ({ path: name, resolveDir, kind }) => {
        if (kind !== 'dynamic-import') return undefined;
        const source = path.relative(folder, path.resolve(resolveDir, name)).replaceAll(path.sep, '/');
        return { path: beside(outputOf(built, source)), external: true };
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
  for (const { path: other, kind } of metafile.outputs[file]?.imports ?? [])
    if (kind === 'import-statement') filesOf(metafile, other, found);
  return found;
}
