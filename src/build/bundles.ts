/** Which bundles there are: their entries and how each is made. */
import path from 'node:path';
import type { BuildOptions } from 'esbuild';

export const root = path.resolve(import.meta.dirname, '../..');

/** Bundle name → entry. Each becomes `dist/<name>.mjs`. */
export const NODE_BUNDLES: Readonly<Record<string, string>> = {
  cli: 'src/cli/main.ts',
  server: 'src/server/main.ts',
  worker: 'src/worker/main.ts',
  reaper: 'src/worker/reaperMain.ts',
  toolThread: 'src/tools/modules/thread.ts',
};

/** CommonJS libraries inside an ES module bundle still call `require`. */
const REQUIRE = "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

export function nodeBuild(product: string): BuildOptions {
  return {
    absWorkingDir: root,
    entryPoints: Object.entries(NODE_BUNDLES).map(([out, entry]) => ({ in: entry, out })),
    outdir: 'dist',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    target: 'node22.19',
    format: 'esm',
    // Shared code is loaded once per process, and a command loads only what it uses.
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    sourcemap: 'linked',
    sourcesContent: false,
    minifySyntax: true,
    legalComments: 'none',
    // esbuild is a program of its own; pg's native variant is optional and not ours.
    external: ['esbuild', 'pg-native', 'bufferutil', 'utf-8-validate'],
    banner: { js: REQUIRE },
    define: { __PRODUCT_VERSION__: JSON.stringify(product) },
    logLevel: 'warning',
  };
}
