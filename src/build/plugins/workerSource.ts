import path from 'node:path';
import { build, type Plugin } from 'esbuild';
import { addBundled } from '../notices/bundledPackages.ts';

/**
 * `import source from 'worker:./file.ts'` returns the text of that file's bundle. A page starts its worker from a blob
 * of this text, because a second script would have another origin in VS Code, and a saved page has none.
 */
export function workerSource(): Plugin {
  return {
    name: 'worker-source',
    setup(page) {
      page.onResolve({ filter: /^worker:/ }, ({ path: name, resolveDir }) => ({
        path: path.resolve(resolveDir, name.slice('worker:'.length)),
        namespace: 'worker-source',
      }));
      page.onLoad({ filter: /.*/, namespace: 'worker-source' }, async ({ path: entry }) => {
        const { minify, target, define, banner } = page.initialOptions;
        const { outputFiles, metafile } = await build({
          entryPoints: [entry],
          bundle: true,
          write: false,
          format: 'iife',
          platform: 'browser',
          metafile: true,
          ...(minify === undefined ? {} : { minify }),
          ...(target === undefined ? {} : { target }),
          ...(define === undefined ? {} : { define }),
          ...(banner === undefined ? {} : { banner }),
        });
        addBundled(metafile, page.initialOptions.absWorkingDir ?? '.', '.');
        return {
          contents: outputFiles[0]?.text ?? '',
          loader: 'text',
          watchFiles: Object.keys(metafile.inputs).map((file) => path.resolve(file)),
        };
      });
    },
  };
}
