import { readFile } from 'node:fs/promises';
import type { OnLoadResult, Plugin } from 'esbuild';
import { hasOwnZod, sdkFile } from './productFiles.ts';
import { NO_SOURCE, PRODUCT, zodFiles } from './zodFiles.ts';
import { zodInOne, zodModule } from './zodInOne.ts';

/** zod's main entry, which re-exports the script at the start of the bundle. */
const ONE = 'zod';
/** Its name in the bundler's metafile. */
export const ZOD_INPUT = `${PRODUCT}:${ONE}`;

/** Resolves `rollout-studio`, and `zod` unless the workspace has its own, from the product's installation. */
export function productModules(): Plugin {
  return {
    name: 'product-modules',
    setup(build) {
      build.onResolve({ filter: /^rollout-studio$/ }, () => ({ path: 'sdk.ts', namespace: PRODUCT }));
      build.onResolve({ filter: /^zod$/ }, (args) =>
        hasOwnZod(args.resolveDir) ? undefined : { path: ONE, namespace: PRODUCT },
      );
      build.onLoad({ filter: /^(sdk\.ts|zod)$/, namespace: PRODUCT }, async (args): Promise<OnLoadResult> => {
        if (args.path === 'sdk.ts')
          return { contents: `${await readFile(sdkFile(), 'utf8')}${NO_SOURCE}`, loader: 'ts' };
        return { contents: `${zodModule(await zodInOne())}${NO_SOURCE}`, loader: 'js' };
      });
      void zodFiles().setup(build);
    },
  } satisfies Plugin;
}
