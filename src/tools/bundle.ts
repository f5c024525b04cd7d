import { createRequire } from 'node:module';
import { readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { BuildFailure, Message, OnLoadResult, Plugin } from 'esbuild';
import { StudioError } from '../common/errors.ts';
import { sha256Hex } from '../common/hash.ts';
import { LIBRARY } from './modules/userStack.ts';
import { hasOwnZod, sdkFile, zodFolder } from './productFiles.ts';

/** A user's module as one ES module, with what it needs inside. */
export interface Bundle {
  /** Relative to the root, with `/`. */
  readonly file: string;
  readonly code: Uint8Array;
  /** Source map (version 3); its sources are relative to the root and hold the user's code. */
  readonly map: Uint8Array;
  readonly bundleSha: string;
  readonly mapSha: string;
}

/** One problem of a bundle, 1-based. */
export interface BundleProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Where the bundle would lie if it were written: sources in the map are relative to it. */
const OUT = 'bundle.mjs';
/** Names the product's own files, so that no path of this machine gets into a bundle. */
const PRODUCT = 'rollout-studio';
/** Makes a library one line of the map. */
const NO_SOURCE = `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify({ version: 3, sources: [LIBRARY], sourcesContent: [''], names: [], mappings: 'AAAA' })).toString('base64')}`;
/** CommonJS packages inside an ES module still call `require` for Node's own modules. */
const REQUIRE = "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

/**
 * Bundles a user's TypeScript or JavaScript module. The same files give the same bytes on every machine.
 * `zod` is the workspace's where it has one, else the product's; `rollout-studio` is always the product's.
 *
 * Throws StudioError `config` with all problems in `details.problems` (BundleProblem[]).
 */
export async function bundleModule(absolutePath: string, root: string): Promise<Bundle> {
  // esbuild follows links, so a root behind one (macOS' /tmp) would seem to be elsewhere.
  return bundle(await realpath(absolutePath).catch(() => absolutePath), await realpath(root).catch(() => root));
}

async function bundle(absolutePath: string, root: string): Promise<Bundle> {
  const file = relativeTo(root, absolutePath);
  const found = await stat(absolutePath).catch(() => undefined);
  if (found?.isFile() !== true) {
    throw new StudioError('config', `${file}: there is no such file.`, { mend: 'Paths of modules are relative to the file that names them.', details: { problems: [{ file, line: 1, column: 1, message: 'there is no such file' }] } });
  }
  // Loaded at first use: it starts a process of its own.
  const { build } = await import('esbuild');
  try {
    const result = await build({
      absWorkingDir: root,
      entryPoints: [absolutePath],
      outfile: path.join(root, OUT),
      write: false,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node22',
      sourcemap: 'external',
      sourcesContent: true,
      keepNames: true,
      legalComments: 'none',
      charset: 'utf8',
      loader: { '.sql': 'text', '.txt': 'text', '.md': 'text' },
      banner: { js: REQUIRE },
      plugins: [productModules(), libraries(root)],
      logLevel: 'silent',
    });
    const code = result.outputFiles.find((output) => output.path.endsWith('.mjs'))?.contents;
    const map = result.outputFiles.find((output) => output.path.endsWith('.map'))?.contents;
    if (code === undefined || map === undefined) throw new StudioError('internal', `esbuild gave no output for ${file}.`);
    return { file, code, map, bundleSha: sha256Hex(code), mapSha: sha256Hex(map) };
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    throw bundleError(file, error);
  }
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors);
}

function bundleError(file: string, failure: BuildFailure): StudioError {
  const problems = failure.errors.map((message) => problemOf(file, message));
  const text = problems.map((problem) => `${problem.file}:${problem.line}:${problem.column}: ${problem.message}`).join('\n');
  const unresolved = failure.errors.some((message) => message.text.startsWith('Could not resolve'));
  return new StudioError('config', text, {
    cause: failure,
    details: { problems },
    mend: unresolved ? 'A package must be installed in the workspace; `zod` and `rollout-studio` come with the product.' : 'A module must build before a rollout can use it.',
  });
}

function problemOf(file: string, message: Message): BundleProblem {
  const { location } = message;
  if (location === null) return { file, line: 1, column: 1, message: message.text };
  // esbuild counts columns in bytes from 0; editors count characters from 1.
  const before = Buffer.from(location.lineText).subarray(0, location.column).toString();
  return { file: location.file.split(path.sep).join('/'), line: location.line, column: before.length + 1, message: message.text };
}

/** `rollout-studio`, and `zod` where the workspace has none: out of the product's installation. */
function productModules(): Plugin {
  return {
    name: 'product-modules',
    setup(build) {
      build.onResolve({ filter: /^rollout-studio$/ }, () => ({ path: 'sdk.ts', namespace: PRODUCT }));
      build.onResolve({ filter: /^zod(\/|$)/ }, (args) => {
        if (args.namespace !== PRODUCT && hasOwnZod(args.resolveDir)) return undefined;
        const resolved = createRequire(import.meta.url).resolve(args.path).replace(/\.cjs$/, '.js');
        return { path: productPath(resolved), namespace: PRODUCT };
      });
      build.onResolve({ filter: /^\./, namespace: PRODUCT }, (args) => {
        const next = path.posix.join(path.posix.dirname(args.importer), args.path);
        // Error messages in 40 languages are half of zod, and every thread would load them.
        if (next === 'zod/v4/locales/index.js') return { path: 'zod/locales-en', namespace: PRODUCT };
        return { path: next, namespace: PRODUCT };
      });
      build.onLoad({ filter: /.*/, namespace: PRODUCT }, async (args): Promise<OnLoadResult> => {
        if (args.path === 'zod/locales-en') return { contents: `export { default as en } from './v4/locales/en.js';${NO_SOURCE}`, loader: 'js' };
        if (args.path === 'sdk.ts') return { contents: `${await readFile(sdkFile(), 'utf8')}${NO_SOURCE}`, loader: 'ts' };
        const file = path.join(zodFolder(), ...args.path.split('/').slice(1));
        return { contents: `${await readFile(file, 'utf8')}${NO_SOURCE}`, loader: 'js' };
      });
    },
  };
}

function productPath(zodFile: string): string {
  return `zod/${path.relative(zodFolder(), zodFile).split(path.sep).join('/')}`;
}

/** Other people's code: left out of the map, and refused where it is not JavaScript. */
function libraries(root: string): Plugin {
  return {
    name: 'libraries',
    setup(build) {
      build.onLoad({ filter: /\.node$/ }, (args) => ({
        errors: [{ text: `${relativeTo(root, args.path)} is a native add-on: it cannot be bundled, nor run in a pod. Use a package without native code, or put the tool into an MCP server.` }],
      }));
      build.onLoad({ filter: /[\\/]node_modules[\\/].*\.[cm]?js$/ }, async (args) => ({
        contents: `${await readFile(args.path, 'utf8')}${NO_SOURCE}`,
        loader: 'js',
      }));
    },
  };
}

function relativeTo(root: string, file: string): string {
  return path.relative(root, file).split(path.sep).join('/');
}
