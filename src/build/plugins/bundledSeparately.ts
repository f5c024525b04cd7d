import path from 'node:path';
import { build, type Plugin } from 'esbuild';
import { addBundled } from '../notices/bundledPackages.ts';

/**
 * Bundles a file that shares nothing with the rest separately first, with the same `plugins`, which removes its unused
 * code. Without this, a bundle without chunks wraps what is loaded later, and a wrapped library is kept completely.
 */
export function bundledSeparately(source: string, plugins: Plugin[]): Plugin {
  return {
    name: 'bundled-separately',
    setup(page) {
      const { absWorkingDir = '.', target, define } = page.initialOptions;
      const file = path.resolve(absWorkingDir, source);
      page.onLoad({ filter: /\.ts$/, namespace: 'file' }, async (request) => {
        if (request.path !== file) return undefined;
        const { outputFiles, metafile } = await build({
          absWorkingDir,
          entryPoints: [file],
          bundle: true,
          write: false,
          format: 'esm',
          platform: 'browser',
          metafile: true,
          plugins,
          ...(target === undefined ? {} : { target }),
          ...(define === undefined ? {} : { define }),
        });
        addBundled(metafile, absWorkingDir);
        return {
          contents: outputFiles[0]?.text ?? '',
          loader: 'js',
          watchFiles: Object.keys(metafile.inputs).map((input) => path.resolve(absWorkingDir, input)),
        };
      });
    },
  };
}
