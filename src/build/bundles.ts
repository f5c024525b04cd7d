/** The bundles: their entries and how each is built. */
import path from 'node:path';
import type { BuildOptions } from 'esbuild';
import { browserLibrary } from './plugins/browserLibrary.ts';
import { bundledSeparately } from './plugins/bundledSeparately.ts';
import { kubernetesClient } from './plugins/kubernetesClient.ts';
import { pageStart } from './plugins/pageStart.ts';
import { requiredHttp } from './plugins/requiredHttp.ts';
import { strictPolicy, ZOD_WITHOUT_EVAL } from './plugins/strictPolicy.ts';
import { undiciByParts } from './plugins/undiciByParts.ts';
import { workerSource } from './plugins/workerSource.ts';
import { zodByParts } from './plugins/zodByParts.ts';

export const root = path.resolve(import.meta.dirname, '../..');
/** The formatter: Biome, configured by biome.json. */
export const biome = path.join(root, 'node_modules/@biomejs/biome/bin/biome');

/** Bundle name → entry. Each becomes `dist/<name>.mjs`. VS Code imports the extension as an ES module. */
const NODE_BUNDLES: Readonly<Record<string, string>> = {
  extension: 'src/extension.ts',
  cli: 'src/cli/entry.ts',
  server: 'src/server/entry.ts',
  worker: 'src/worker/main.ts',
  reaper: 'src/worker/reaperMain.ts',
  moduleProcess: 'src/tools/modules/process/main.ts',
  toolServer: 'src/tools/toolServer/main.ts',
  toolRelay: 'src/tools/toolServer/relay/main.ts',
  toolThread: 'src/tools/modules/thread.ts',
  readerThread: 'src/tools/builtins/readerThread/thread.ts',
  checkpointThread: 'src/store/sqlite/checkpointThread.ts',
  template: 'src/client/published/template/main.ts',
  language: 'src/language/main.ts',
};
/** esbuild's report on the Node bundles: the modules and sources of each. */
export const METAFILE = 'dist/.metafile.json';
/** Becomes `dist/webview/page.js` and `page.css`: all pages, for a saved file. All pages share the styles. */
const PAGE_ENTRY = 'webview/main.tsx';
/** Becomes `dist/webview/try.js` and `try.css`: the panel of “Try Tool…”. */
const TRY_ENTRY = 'webview/try/main.tsx';
/** Becomes `dist/webview/world.js` and `world.css`: the page of a world. */
const WORLD_ENTRY = 'webview/world/page/main.tsx';

/** Becomes `dist/webview/start.js`, which loads the program next to it: the same pages in VS Code and in a browser. */
const START_ENTRY = 'webview/start.ts';
const FIRST_ROWS_ENTRY = 'webview/batch/grid/firstRows.ts';
const PROGRAM_ENTRIES = ['webview/messageSchemas.ts', 'webview/show.tsx'];

/** CommonJS libraries inside an ES module bundle still call `require`. */
const REQUIRE =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";
/**
 * VS Code provides its own module; esbuild runs as a separate program; pg's native variant is optional and not used.
 */
const NODE_EXTERNAL = ['vscode', 'esbuild', 'pg-native', 'bufferutil', 'utf-8-validate'];

/** How bundles are minified: names stay, so that stacks are readable. */
const SMALLER = {
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  sourcesContent: false,
} as const satisfies BuildOptions;

const PAGE_PLUGINS = [zodByParts(), strictPolicy(), workerSource()];

/** Returns all builds of `dist/`. */
export function allBuilds(product: string): BuildOptions[] {
  return [
    nodeBuild(product),
    pageBuild(product),
    pagePartsBuild(product),
    { ...pageBuild(product), entryPoints: [{ in: TRY_ENTRY, out: 'try' }] },
    { ...pageBuild(product), entryPoints: [{ in: WORLD_ENTRY, out: 'world' }] },
  ];
}

/** Code that runs in Node: the programs and the extension. */
export function nodeBuild(product: string): BuildOptions {
  return {
    ...SMALLER,
    absWorkingDir: root,
    entryPoints: Object.entries(NODE_BUNDLES).map(([out, entry]) => ({ in: entry, out })),
    outdir: 'dist',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    target: 'node22.13',
    format: 'esm',
    // Shared code is written once, and a process loads only what it uses.
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    sourcemap: 'linked',
    external: NODE_EXTERNAL,
    plugins: [zodByParts(), kubernetesClient(), undiciByParts(), browserLibrary(), requiredHttp()],
    banner: { js: REQUIRE },
    // VS Code logs an error for an extension that checks for `navigator`, as zod does.
    define: { __PRODUCT_VERSION__: JSON.stringify(product), navigator: 'undefined' },
    logLevel: 'warning',
  };
}

/** The pages as one plain script, because a page saved as a file cannot load chunks. It also has all styles. */
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
    plugins: [...PAGE_PLUGINS, bundledSeparately('webview/components/toolkit.ts', [strictPolicy()])],
    define: { __PRODUCT_VERSION__: JSON.stringify(product), 'process.env.NODE_ENV': '"production"' },
    logLevel: 'warning',
  };
}

/** The same pages in chunks, for VS Code and for a browser: the first rows wait only for the code that shows them. */
function pagePartsBuild(product: string): BuildOptions {
  const whole = pageBuild(product);
  return {
    ...whole,
    entryPoints: PROGRAM_ENTRIES,
    // The name of a chunk depends on its contents, so that a browser can cache it.
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    format: 'esm',
    splitting: true,
    loader: { ...whole.loader, '.css': 'empty' },
    plugins: [...PAGE_PLUGINS, pageStart(START_ENTRY, [FIRST_ROWS_ENTRY], PROGRAM_ENTRIES)],
  };
}
