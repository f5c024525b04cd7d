import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { OnLoadResult, Plugin } from 'esbuild';
import { LIBRARY } from './modules/userStack.ts';
import { hasOwnZod, zodFolder } from './productFiles.ts';

/** Source map comment that reduces a library to one entry of the map. */
export const NO_SOURCE =
  '\n//# ' +
  `sourceMappingURL=data:application/json;base64,${Buffer.from(
    JSON.stringify({ version: 3, sources: [LIBRARY], sourcesContent: [''], names: [], mappings: 'AAAA' }),
  ).toString('base64')}`;
/** Namespace of the product's files, so that bundles contain no paths of this machine. */
export const PRODUCT = 'rollout-studio';

/** Resolves the files of the product's zod. */
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
        // Omits error messages in other languages, which are half of zod's code.
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
