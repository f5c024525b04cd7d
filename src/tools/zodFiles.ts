import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { OnLoadResult, Plugin } from 'esbuild';
import { LIBRARY } from './modules/userStack.ts';
import { hasOwnZod, zodFolder } from './productFiles.ts';

/** Makes a library one line of the map. */
export const NO_SOURCE =
  '\n//# ' +
  `sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify({ version: 3, sources: [LIBRARY], sourcesContent: [''], names: [], mappings: 'AAAA' })).toString('base64')}`;
/** Names the product's own files, so that no path of this machine gets into a bundle. */
export const PRODUCT = 'rollout-studio';

/** zod's files, each as it is. */
export function zodFiles(): Plugin {
  return {
    name: 'zod-files',
    setup(build) {
      build.onResolve({ filter: /^zod(\/|$)/ }, (args) => {
        if (args.namespace !== PRODUCT && args.importer !== '<stdin>' && hasOwnZod(args.resolveDir)) return undefined;
        const resolved = createRequire(import.meta.url)
          .resolve(args.path)
          .replace(/\.cjs$/, '.js');
        return { path: productPath(resolved), namespace: PRODUCT };
      });
      build.onResolve({ filter: /^\./, namespace: PRODUCT }, (args) => {
        const next = path.posix.join(path.posix.dirname(args.importer), args.path);
        // Error messages in 40 languages are half of zod, and every thread would load them.
        if (next === 'zod/v4/locales/index.js') return { path: 'zod/locales-en', namespace: PRODUCT };
        return { path: next, namespace: PRODUCT };
      });
      build.onLoad({ filter: /^zod\//, namespace: PRODUCT }, async (args): Promise<OnLoadResult> => {
        if (args.path === 'zod/locales-en')
          return { contents: `export { default as en } from './v4/locales/en.js';${NO_SOURCE}`, loader: 'js' };
        const file = path.join(zodFolder(), ...args.path.split('/').slice(1));
        return { contents: `${await readFile(file, 'utf8')}${NO_SOURCE}`, loader: 'js' };
      });
    },
  };
}

function productPath(zodFile: string): string {
  return `zod/${path.relative(zodFolder(), zodFile).split(path.sep).join('/')}`;
}
