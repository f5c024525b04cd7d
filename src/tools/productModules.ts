import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { BuildOptions, OnLoadResult, Plugin } from 'esbuild';
import { LIBRARY } from './modules/userStack.ts';
import { hasOwnZod, sdkFile, zodFolder } from './productFiles.ts';

/** Makes a library one line of the map. */
export const NO_SOURCE = `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify({ version: 3, sources: [LIBRARY], sourcesContent: [''], names: [], mappings: 'AAAA' })).toString('base64')}`;
/** What zod in one file is called, beside zod's own files, where an installation has it ready. */
export const ZOD_IN_ONE = 'inOne.js';

/** Names the product's own files, so that no path of this machine gets into a bundle. */
const PRODUCT = 'rollout-studio';
/** All of zod's main entry as one module. */
const ONE = 'zod';

/** `rollout-studio`, and `zod` where the workspace has none: out of the product's installation. */
export function productModules(): Plugin {
  return {
    name: 'product-modules',
    setup(build) {
      build.onResolve({ filter: /^rollout-studio$/ }, () => ({ path: 'sdk.ts', namespace: PRODUCT }));
      build.onResolve({ filter: /^zod$/ }, (args) => (hasOwnZod(args.resolveDir) ? undefined : { path: ONE, namespace: PRODUCT }));
      build.onLoad({ filter: /^(sdk\.ts|zod)$/, namespace: PRODUCT }, async (args): Promise<OnLoadResult> => {
        if (args.path === 'sdk.ts') return { contents: `${await readFile(sdkFile(), 'utf8')}${NO_SOURCE}`, loader: 'ts' };
        return { contents: `${await zodInOne()}${NO_SOURCE}`, loader: 'js' };
      });
      void zodFiles().setup(build);
    },
  } satisfies Plugin;
}

let made: Promise<string> | undefined;

/** zod's main entry with everything it imports, as one module: every bundle has it, and a hundred files take their time each time. */
function zodInOne(): Promise<string> {
  made ??= readFile(path.join(zodFolder(), ZOD_IN_ONE), 'utf8').catch(() => buildZodInOne());
  return made;
}

/** Makes what `zodInOne` gives: the same text on every machine. */
export async function buildZodInOne(): Promise<string> {
  const { build } = await import('esbuild');
  const result = await build({
    stdin: { contents: "export * from 'zod'; export { default } from 'zod';", loader: 'js' },
    absWorkingDir: zodFolder(),
    write: false, bundle: true, format: 'esm', platform: 'node', target: 'node22', legalComments: 'none', charset: 'utf8', logLevel: 'silent',
    plugins: [zodFiles()],
  } satisfies BuildOptions);
  return Buffer.from(result.outputFiles[0]?.contents ?? []).toString('utf8');
}

/** zod's files, each as it is. */
function zodFiles(): Plugin {
  return {
    name: 'zod-files',
    setup(build) {
      build.onResolve({ filter: /^zod(\/|$)/ }, (args) => {
        if (args.namespace !== PRODUCT && args.importer !== '<stdin>' && hasOwnZod(args.resolveDir)) return undefined;
        const resolved = createRequire(import.meta.url).resolve(args.path).replace(/\.cjs$/, '.js');
        return { path: productPath(resolved), namespace: PRODUCT };
      });
      build.onResolve({ filter: /^\./, namespace: PRODUCT }, (args) => {
        const next = path.posix.join(path.posix.dirname(args.importer), args.path);
        // Error messages in 40 languages are half of zod, and every thread would load them.
        if (next === 'zod/v4/locales/index.js') return { path: 'zod/locales-en', namespace: PRODUCT };
        return { path: next, namespace: PRODUCT };
      });
      build.onLoad({ filter: /^zod\//, namespace: PRODUCT }, async (args): Promise<OnLoadResult> => {
        if (args.path === 'zod/locales-en') return { contents: `export { default as en } from './v4/locales/en.js';${NO_SOURCE}`, loader: 'js' };
        const file = path.join(zodFolder(), ...args.path.split('/').slice(1));
        return { contents: `${await readFile(file, 'utf8')}${NO_SOURCE}`, loader: 'js' };
      });
    },
  };
}

function productPath(zodFile: string): string {
  return `zod/${path.relative(zodFolder(), zodFile).split(path.sep).join('/')}`;
}
