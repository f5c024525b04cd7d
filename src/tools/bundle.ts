import { readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { BuildFailure, Message, Plugin } from 'esbuild';
import { StudioError } from '../common/errors.ts';
import { sha256Hex } from '../common/hash.ts';
import { sentence } from '../common/text.ts';
import { productModules, ZOD_INPUT } from './productModules.ts';
import { NO_SOURCE } from './zodFiles.ts';
import { zodInOne } from './zodInOne.ts';

/** A user's module, bundled with its dependencies to one ES module. */
export interface Bundle {
  /** Relative to the root, with `/`. */
  readonly file: string;
  readonly code: Uint8Array;
  /** Source map (version 3) with the user's code; sources are relative to the root. */
  readonly map: Uint8Array;
  readonly bundleSha: string;
  readonly mapSha: string;
  /** The files whose text is in it, relative to the root, with `/`. */
  readonly inputs: readonly string[];
}

/** A problem in a bundle; positions are 1-based. */
export interface BundleProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/**
 * Output names. Bundles are (virtually) located in the root, because sources in the map are relative to them; the names
 * do not appear in the output.
 */
const OUT = 'bundle-';
/** CommonJS packages inside an ES module still call `require` for Node's own modules. */
const REQUIRE =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";
/** Marks where zod is inserted. */
const ZOD_HERE = '/*! zod */';

/**
 * Bundles a user's TypeScript or JavaScript module. The same files result in the same bytes on every machine. Uses the
 * workspace's `zod` if it has one, otherwise the product's; `rollout-studio` is always the product's.
 *
 * Throws StudioError `config` with all problems in `details.problems` (BundleProblem[]).
 */
export async function bundleModule(absolutePath: string, root: string): Promise<Bundle> {
  // esbuild resolves links, so the root must be resolved too (e.g. /tmp on macOS).
  const [entry, folder] = await Promise.all([absolutePath, root].map((path) => realpath(path).catch(() => path)));
  const request = { path: entry ?? absolutePath, root: folder ?? root };
  const file = relativeTo(request.root, request.path);
  const found = await stat(request.path).catch(() => undefined);
  if (found?.isFile() !== true) {
    throw new StudioError('config', `${file}: file not found.`, {
      hint: 'Module paths are relative to the file that names them.',
      details: { problems: [{ file, line: 1, column: 1, message: 'file not found' }] },
    });
  }
  return enqueue(request);
}

interface BundleRequest {
  readonly path: string;
  readonly root: string;
}

interface PendingBundle extends BundleRequest {
  resolve(bundle: Bundle): void;
  reject(error: unknown): void;
}

/** Modules of one submission are requested at nearly the same time. */
const BATCH_DELAY_MS = 5;
const waiting: PendingBundle[] = [];

/**
 * Bundles modules that are requested together in one run: each gets its own bundle, but shared files are read and
 * parsed only once. With the WebAssembly bundler, this takes most of the time of a launch.
 */
function enqueue(request: BundleRequest): Promise<Bundle> {
  return new Promise((resolve, reject) => {
    if (waiting.length === 0) setTimeout(() => flush(waiting.splice(0)), BATCH_DELAY_MS);
    waiting.push({ ...request, resolve, reject });
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
          const result = bundles[index];
          if (result === undefined)
            one.reject(new StudioError('internal', `esbuild returned no output for ${relativeTo(root, one.path)}.`));
          else one.resolve(result);
        }
      },
      (error: unknown) => {
        const [only] = some;
        if (some.length === 1 && only !== undefined)
          only.reject(isBuildFailure(error) ? bundleError(relativeTo(root, only.path), error) : error);
        else for (const one of some) flush([one]); // separately, so that each gets its own errors
      },
    );
  }
}

/** Returns a bundle for each path, in order. Rejects with the error of esbuild. */
async function bundle(paths: readonly string[], root: string): Promise<Bundle[]> {
  // Loaded on first use, because it starts a separate process.
  const [{ build }, zod] = await Promise.all([import('esbuild'), zodInOne()]);
  // Reserves lines for zod and fills them only if it is used, so that source maps are correct either way.
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
    plugins: [regularFiles(root), productModules(), libraries(root)],
    logLevel: 'silent',
  });
  const outputs = new Map(result.outputFiles.map((output) => [path.basename(output.path), output.contents]));
  return paths.map((entry, index) => {
    const file = relativeTo(root, entry);
    const name = `${OUT}${index}.mjs`;
    const built = outputs.get(name);
    const map = outputs.get(`${name}.map`);
    if (built === undefined || map === undefined)
      throw new StudioError('internal', `esbuild returned no output for ${file}.`);
    const inputs = result.metafile.outputs[name]?.inputs ?? {};
    const usesZod = (inputs[ZOD_INPUT]?.bytesInOutput ?? 0) > 0;
    const code = Buffer.from(
      Buffer.from(built)
        .toString('utf8')
        .replace(free, () => (usesZod ? `${zod.script}\n` : '\n'.repeat(free.length - ZOD_HERE.length))),
    );
    return {
      file,
      code,
      map,
      bundleSha: sha256Hex(code),
      mapSha: sha256Hex(map),
      inputs: Object.keys(inputs).filter((input) => !/^[a-z-]{2,}:/.test(input)), // the product's own have a namespace
    };
  });
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors);
}

function bundleError(file: string, failure: BuildFailure): StudioError {
  const problems = failure.errors.map((message) => problemOf(file, message));
  const text = problems
    .map((problem) => `${problem.file}:${problem.line}:${problem.column}: ${sentence(problem.message)}`)
    .join('\n');
  const unresolved = failure.errors.some((message) => message.text.startsWith('Could not resolve'));
  return new StudioError('config', text, {
    cause: failure,
    details: { problems },
    hint: unresolved
      ? 'Install the package in the workspace. Only `zod` and `rollout-studio` are included with the product.'
      : 'Fix the module: it must build before a rollout can use it.',
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

/** Rejects pipes and devices that a module imports: esbuild would wait for their end. */
function regularFiles(root: string): Plugin {
  return {
    name: 'regular files',
    setup(build) {
      build.onLoad({ filter: /./, namespace: 'file' }, async (args) => {
        const found = await stat(args.path).catch(() => undefined); // esbuild reports what is missing
        return found === undefined || found.isFile()
          ? undefined
          : { errors: [{ text: `${relativeTo(root, args.path)} is not a regular file.` }] };
      });
    },
  };
}

/** Excludes libraries from the source map, and rejects native add-ons. */
function libraries(root: string): Plugin {
  return {
    name: 'libraries',
    setup(build) {
      build.onLoad({ filter: /\.node$/ }, (args) => ({
        errors: [
          {
            text:
              `${relativeTo(root, args.path)} is a native add-on, which cannot be bundled or run in a pod. Use a ` +
              'package without native code, or move the tool to an MCP server.',
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
