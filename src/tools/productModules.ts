import { readFile } from 'node:fs/promises';
import type { OnLoadResult, Plugin } from 'esbuild';
import { hasOwnZod, sdkFile } from './productFiles.ts';
import { NO_SOURCE, PRODUCT, zodFiles } from './zodFiles.ts';
import { zodInOne, zodModule } from './zodInOne.ts';

/** zod's main entry, made of what stands in front of the bundle. */
const ONE = 'zod';
/** The same, as the bundler's account of a bundle names it. */
export const ZOD_INPUT = `${PRODUCT}:${ONE}`;

/** `rollout-studio`, and `zod` where the workspace has none: out of the product's installation. */
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
