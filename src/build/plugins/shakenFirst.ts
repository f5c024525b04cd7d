import path from 'node:path';
import { build, type Plugin } from 'esbuild';
import { addBundled } from '../notices/bundledPackages.ts';

/**
 * In a bundle without parts, what is loaded later stands wrapped, and a wrapped library is kept whole. A file that
 * shares nothing with the rest is therefore bundled by itself first, with the same `plugins`: what it does not use is
 * gone then.
 */
export function shakenFirst(source: string, plugins: Plugin[]): Plugin {
  return {
    name: 'shaken-first',
    setup(page) {
      const { absWorkingDir = '.', target, define } = page.initialOptions;
      const file = path.resolve(absWorkingDir, source);
      page.onLoad({ filter: /\.ts$/, namespace: 'file' }, async (asked) => {
        if (asked.path !== file) return undefined;
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
