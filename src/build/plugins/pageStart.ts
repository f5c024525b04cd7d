import path from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { addBundled } from '../notices/bundledPackages.ts';

/**
 * Bundles the start of a page: a file `entry`, and `alone`, which only some pages need before everything else. Each
 * becomes one file that shares nothing. They load `program`, the entries of this build; `__PROGRAM__` lists the files
 * of the program, to load all at once.
 */
export function pageStart(entry: string, alone: readonly string[], program: readonly string[]): Plugin {
  return {
    name: 'page-start',
    setup(parts) {
      const options = parts.initialOptions;
      options.metafile = true;
      parts.onEnd(async ({ metafile }) => {
        if (metafile === undefined) return; // the build failed and has printed its errors
        const files = new Set(program.flatMap((source) => [...filesOf(metafile, outputOf(metafile, source))]));
        const built: Metafile = { inputs: {}, outputs: { ...metafile.outputs } };
        const start: BuildOptions & { readonly metafile: true } = {
          ...options,
          metafile: true,
          splitting: false,
          define: { ...options.define, __PROGRAM__: JSON.stringify([...files].map(relativeImport)) },
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

/** Replaces `import(…)` of a source by its output. */
function loadedFrom(built: Metafile, folder: string): Plugin {
  return {
    name: 'loaded-from',
    setup(build) {
      build.onResolve({ filter: /^\./ }, ({ path: name, resolveDir, kind }) => {
        if (kind !== 'dynamic-import') return undefined;
        const source = path.relative(folder, path.resolve(resolveDir, name)).replaceAll(path.sep, '/');
        return { path: relativeImport(outputOf(built, source)), external: true };
      });
    },
  };
}

function relativeImport(file: string): string {
  return `./${path.posix.basename(file)}`;
}

function outputOf({ outputs }: Metafile, source: string): string {
  const output = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === source)?.[0];
  if (output === undefined) throw new Error(`${source} is no entry`);
  return output;
}

/** Returns a file and everything that it imports statically. */
function filesOf(metafile: Metafile, file: string, output = new Set<string>()): Set<string> {
  if (output.has(file)) return output;
  output.add(file);
  for (const { path: other, kind } of metafile.outputs[file]?.imports ?? [])
    if (kind === 'import-statement') filesOf(metafile, other, output);
  return output;
}
