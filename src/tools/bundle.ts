import { readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { BuildFailure, Message, Plugin } from 'esbuild';
import { StudioError } from '../common/errors.ts';
import { sha256Hex } from '../common/hash.ts';
import { productModules, ZOD_INPUT } from './productModules.ts';
import { NO_SOURCE } from './zodFiles.ts';
import { zodInOne } from './zodInOne.ts';

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

/**
 * Bundles would lie in the root if they were written, for sources in the map are relative to them; their names are in
 * none of it.
 */
const OUT = 'bundle-';
/** CommonJS packages inside an ES module still call `require` for Node's own modules. */
const REQUIRE =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";
/** Where zod comes to stand. */
const ZOD_HERE = '/*! zod */';

/**
 * Bundles a user's TypeScript or JavaScript module. The same files give the same bytes on every machine.
 * `zod` is the workspace's where it has one, else the product's; `rollout-studio` is always the product's.
 *
 * Throws StudioError `config` with all problems in `details.problems` (BundleProblem[]).
 */
export async function bundleModule(absolutePath: string, root: string): Promise<Bundle> {
  // esbuild follows links, so a root behind one (macOS' /tmp) would seem to be elsewhere.
  const [entry, folder] = await Promise.all([absolutePath, root].map((path) => realpath(path).catch(() => path)));
  const asked = { path: entry ?? absolutePath, root: folder ?? root };
  const file = relativeTo(asked.root, asked.path);
  const found = await stat(asked.path).catch(() => undefined);
  if (found?.isFile() !== true) {
    throw new StudioError('config', `${file}: there is no such file.`, {
      hint: 'Paths of modules are relative to the file that names them.',
      details: { problems: [{ file, line: 1, column: 1, message: 'there is no such file' }] },
    });
  }
  return together(asked);
}

interface BundleRequest {
  readonly path: string;
  readonly root: string;
}

interface PendingBundle extends BundleRequest {
  resolve(bundle: Bundle): void;
  reject(error: unknown): void;
}

/** Modules of one submission are asked for at nearly the same time. */
const TOGETHER_MS = 5;
const waiting: PendingBundle[] = [];

/**
 * Modules that are asked for together are made in one run: each is a bundle of its own, but what they share is read and
 * parsed once. With the bundler that is WebAssembly this is most of the time of a launch.
 */
function together(asked: BundleRequest): Promise<Bundle> {
  return new Promise((resolve, reject) => {
    if (waiting.length === 0) setTimeout(() => flush(waiting.splice(0)), TOGETHER_MS);
    waiting.push({ ...asked, resolve, reject });
  });
}

function flush(all: readonly PendingBundle[]): void {
  for (const root of new Set(all.map((one) => one.root))) {
    const some = all.filter((one) => one.root === root);
    bundle(
      some.map((one) => one.path),
      root,
    ).then(
      (bundles) => {
        for (const [index, one] of some.entries()) {
          const made = bundles[index];
          if (made === undefined)
            one.reject(new StudioError('internal', `esbuild gave no output for ${relativeTo(root, one.path)}.`));
          else one.resolve(made);
        }
      },
      (error: unknown) => {
        const [only] = some;
        if (some.length === 1 && only !== undefined)
          only.reject(isBuildFailure(error) ? bundleError(relativeTo(root, only.path), error) : error);
        else for (const one of some) flush([one]); // each with what is wrong in it
      },
    );
  }
}

/** One bundle for each path, in their order. Rejects with what esbuild says. */
async function bundle(paths: readonly string[], root: string): Promise<Bundle[]> {
  // Loaded at first use: it starts a process of its own.
  const [{ build }, zod] = await Promise.all([import('esbuild'), zodInOne()]);
  // Lines are kept free for zod, and filled where it is used: so the maps are right with and without it.
  const free = `${ZOD_HERE}${'\n'.repeat(zod.script.split('\n').length)}`;
  const result = await build({
    absWorkingDir: root,
    entryPoints: paths.map((path, index) => ({ in: path, out: `${OUT}${index}` })),
    outdir: root,
    outExtension: { '.js': '.mjs' },
    write: false,
    metafile: true,
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
    banner: { js: `${REQUIRE}\n${free}` },
    plugins: [productModules(), libraries(root)],
    logLevel: 'silent',
  });
  const outputs = new Map(result.outputFiles.map((output) => [path.basename(output.path), output.contents]));
  return paths.map((entry, index) => {
    const file = relativeTo(root, entry);
    const name = `${OUT}${index}.mjs`;
    const built = outputs.get(name);
    const map = outputs.get(`${name}.map`);
    if (built === undefined || map === undefined)
      throw new StudioError('internal', `esbuild gave no output for ${file}.`);
    const usesZod = (result.metafile.outputs[name]?.inputs[ZOD_INPUT]?.bytesInOutput ?? 0) > 0;
    const code = Buffer.from(
      Buffer.from(built)
        .toString('utf8')
        .replace(free, () => (usesZod ? `${zod.script}\n` : '\n'.repeat(free.length - ZOD_HERE.length))),
    );
    return { file, code, map, bundleSha: sha256Hex(code), mapSha: sha256Hex(map) };
  });
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors);
}

function bundleError(file: string, failure: BuildFailure): StudioError {
  const problems = failure.errors.map((message) => problemOf(file, message));
  const text = problems
    .map((problem) => `${problem.file}:${problem.line}:${problem.column}: ${problem.message}`)
    .join('\n');
  const unresolved = failure.errors.some((message) => message.text.startsWith('Could not resolve'));
  return new StudioError('config', text, {
    cause: failure,
    details: { problems },
    hint: unresolved
      ? 'A package must be installed in the workspace; `zod` and `rollout-studio` come with the product.'
      : 'A module must build before a rollout can use it.',
  });
}

function problemOf(file: string, message: Message): BundleProblem {
  const { location } = message;
  if (location === null) return { file, line: 1, column: 1, message: message.text };
  // esbuild counts columns in bytes from 0; editors count characters from 1.
  const before = Buffer.from(location.lineText).subarray(0, location.column).toString();
  return {
    file: location.file.split(path.sep).join('/'),
    line: location.line,
    column: before.length + 1,
    message: message.text,
  };
}

/** Other people's code: left out of the map, and refused where it is not JavaScript. */
function libraries(root: string): Plugin {
  return {
    name: 'libraries',
    setup(build) {
      build.onLoad({ filter: /\.node$/ }, (args) => ({
        errors: [
          {
            text:
              `${relativeTo(root, args.path)} is a native add-on: it cannot be bundled, nor run in a pod. Use a ` +
              'package without native code, or put the tool into an MCP server.',
          },
        ],
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
