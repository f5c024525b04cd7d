/** Which bundles there are: their entries and how each is made. */
import path from 'node:path';
import type { BuildOptions } from 'esbuild';
import { zodByParts } from './plugins/zodByParts.ts';
import { strictPolicy, ZOD_WITHOUT_EVAL } from './plugins/strictPolicy.ts';
import { workerSource } from './plugins/workerSource.ts';

export const root = path.resolve(import.meta.dirname, '../..');

/** Bundle name → entry. Each becomes `dist/<name>.mjs`. */
export const NODE_BUNDLES: Readonly<Record<string, string>> = {
  cli: 'src/cli/main.ts',
  server: 'src/server/main.ts',
  worker: 'src/worker/main.ts',
  reaper: 'src/worker/reaperMain.ts',
  toolThread: 'src/tools/modules/thread.ts',
};
/** Becomes `dist/extension.cjs`: VS Code loads extensions with `require`. */
export const EXTENSION_ENTRY = 'src/extension.ts';
/** Becomes `dist/webview/page.js` and `page.css`: both pages, in VS Code and in a browser. */
export const PAGE_ENTRY = 'webview/main.tsx';

/** CommonJS libraries inside an ES module bundle still call `require`. */
const REQUIRE = "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";
/** An ES module's own address, inside a CommonJS bundle. */
const MODULE_URL = "const __moduleUrl = require('node:url').pathToFileURL(__filename).href;";
/** esbuild is a program of its own; pg's native variant is optional and not ours. */
const NODE_EXTERNAL = ['esbuild', 'pg-native', 'bufferutil', 'utf-8-validate'];

/** How much a bundle is made smaller: names stay, so that stacks can be read. */
const SMALLER = { minifySyntax: true, minifyWhitespace: true, legalComments: 'none', sourcesContent: false } as const satisfies BuildOptions;

/** Everything `dist/` is made of. */
export function allBuilds(product: string): BuildOptions[] {
  return [nodeBuild(product), extensionBuild(product), pageBuild(product)];
}

/** The programs that run in Node by themselves. */
export function nodeBuild(product: string): BuildOptions {
  return {
    ...SMALLER,
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
    external: NODE_EXTERNAL,
    plugins: [zodByParts()],
    banner: { js: REQUIRE },
    define: { __PRODUCT_VERSION__: JSON.stringify(product) },
    logLevel: 'warning',
  };
}

/** The extension: one file, loaded at activation. */
export function extensionBuild(product: string): BuildOptions {
  return {
    ...SMALLER,
    absWorkingDir: root,
    entryPoints: [{ in: EXTENSION_ENTRY, out: 'extension' }],
    outdir: 'dist',
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    target: 'node22.19',
    format: 'cjs',
    sourcemap: 'linked',
    external: ['vscode', ...NODE_EXTERNAL],
    plugins: [zodByParts()],
    banner: { js: MODULE_URL },
    // VS Code logs an error for an extension that looks whether there is a `navigator`; zod does.
    define: { __PRODUCT_VERSION__: JSON.stringify(product), 'import.meta.url': '__moduleUrl', navigator: 'undefined' },
    logLevel: 'warning',
  };
}

/** The pages: plain scripts, so that a page saved as one file works from the disk. */
export function pageBuild(product: string): BuildOptions {
  return {
    absWorkingDir: root,
    entryPoints: [{ in: PAGE_ENTRY, out: 'page' }],
    outdir: 'dist/webview',
    bundle: true,
    platform: 'browser',
    target: 'chrome120',
    format: 'iife',
    minify: true,
    legalComments: 'none',
    sourcemap: 'linked',
    sourcesContent: false,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfig: 'webview/tsconfig.json',
    loader: { '.ttf': 'file', '.svg': 'text' },
    assetNames: '[name]',
    banner: { js: ZOD_WITHOUT_EVAL },
    plugins: [zodByParts(), strictPolicy(), workerSource()],
    define: { __PRODUCT_VERSION__: JSON.stringify(product), 'process.env.NODE_ENV': '"production"' },
    logLevel: 'warning',
  };
}
