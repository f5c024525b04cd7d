/**
 * Prepares the folder from which the .vsix is built: only files of the allowlist, two libraries with which users'
 * modules are bundled, and Node's types for users' editors.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { transformSync } from 'esbuild';
import { z } from 'zod';
import { compressed, QUALITY } from './compressed.ts';
import { VSIX_ALLOWED } from './contents.ts';

const record = z.record(z.string(), z.unknown());
/** Files that only the development of the project needs. */
const NOT_IN_MANIFEST = ['scripts', 'dependencies', 'devDependencies', 'allowScripts', 'files', 'private'];
const PLACES = ['README.md', 'LICENSE', 'CHANGELOG.md', 'ThirdPartyNotices.txt', 'dist', 'media', 'src/tools/sdk.ts'];
/** Next to the bundles that look for them. `vsce` leaves out a `node_modules` at the top. */
const MODULES = 'dist/node_modules';
/** Node's types, and the types that they refer to. */
const NODE_TYPES = ['@types/node', 'undici-types'];
/**
 * zod's languages except English, its previous major version, its sources for other module systems, and files that only
 * bundlers of zod need.
 */
const ZOD_LEFT_OUT = /^(src|v3)\/|\.(cjs|d\.cts)$|(^|\/)locales\/(?!index\.|en\.|package\.json)|\.md$/;
/** The largest file of all. */
export const ESBUILD_WASM = `${MODULES}/esbuild/esbuild.wasm.br`;
const ESBUILD_FILES = ['LICENSE.md', 'wasm_exec.js', 'wasm_exec_node.js'];

/** Creates `stage` from the project in `root`. `quality`: Brotli quality of the largest file. */
export async function stageVsix(root: string, stage: string, quality: number = QUALITY.released): Promise<void> {
  rmSync(stage, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  for (const file of PLACES.flatMap((place) => filesIn(root, place))) {
    if (VSIX_ALLOWED.some((pattern) => pattern.test(file))) copy(path.join(root, file), stage, file);
  }
  const manifest = record.parse(JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')));
  write(
    stage,
    'package.json',
    json(Object.fromEntries(Object.entries(manifest).filter(([key]) => !NOT_IN_MANIFEST.includes(key)))),
  );
  write(stage, '.vscodeignore', '# Nothing is ignored: everything here is part of the .vsix.\n');
  write(stage, 'README.md', withoutPictures(readFileSync(path.join(root, 'README.md'), 'utf8')));
  stageZod(path.join(root, 'node_modules', 'zod'), stage);
  for (const name of NODE_TYPES) stageTypes(path.join(root, 'node_modules', name), stage, name);
  await stageEsbuild(path.join(root, 'node_modules'), stage, quality);
}

/** VS Code shows no pictures of an installed README, and `vsce` rejects pictures that are not on the web. */
function withoutPictures(markdown: string): string {
  return markdown
    .replace(/^[ \t]*!\[[^\]]*\]\([^)]*\)[ \t]*\n/gm, '')
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/<img\b[^>]*>/g, '');
}

function stageZod(from: string, stage: string): void {
  const to = `${MODULES}/zod`;
  for (const file of filesIn(from, '.')) {
    if (ZOD_LEFT_OUT.test(file)) continue;
    if (file.endsWith('.js')) write(stage, `${to}/${file}`, minified(readFileSync(path.join(from, file), 'utf8')));
    else if (/(LICENSE|package\.json|\.d\.ts)$/.test(file)) copy(path.join(from, file), stage, `${to}/${file}`);
  }
  for (const file of ['locales/index.js', 'v4/locales/index.js'])
    write(stage, `${to}/${file}`, "export { default as en } from './en.js';\n");
  for (const file of ['locales/index.d.ts', 'v4/locales/index.d.ts'])
    write(stage, `${to}/${file}`, "export { default as en } from './en.js';\n");
  const { name, version, license, type, sideEffects, exports } = z
    .object({
      name: z.string(),
      version: z.string(),
      license: z.string(),
      type: z.string(),
      sideEffects: z.array(z.string()),
      exports: z.record(z.string(), z.union([z.string(), z.object({ import: z.string() })])),
    })
    .parse(JSON.parse(readFileSync(path.join(from, 'package.json'), 'utf8')));
  // One file for `import` and `require`: the CommonJS versions are left out.
  const entries = Object.entries(exports).filter(([key]) => key !== './v3');
  const only = entries.map(([key, target]): [string, unknown] => {
    if (typeof target === 'string') return [key, target];
    return [key, { types: target.import.replace(/\.js$/, '.d.ts'), default: target.import }];
  });
  write(
    stage,
    `${to}/package.json`,
    json({
      name,
      version,
      license,
      type,
      sideEffects,
      main: './index.js',
      types: './index.d.ts',
      exports: Object.fromEntries(only),
    }),
  );
}

/** Names stay, as in the bundles. */
function minified(code: string): string {
  return transformSync(code, { minifySyntax: true, minifyWhitespace: true, legalComments: 'none', charset: 'utf8' })
    .code;
}

/**
 * A package of types, so that modules and tests in a workspace without `node_modules` have no red squiggles. Its
 * documentation is three quarters of its size and stays out.
 */
function stageTypes(from: string, stage: string, name: string): void {
  const to = `${MODULES}/${name}`;
  for (const file of filesIn(from, '.')) {
    if (file.endsWith('.d.ts'))
      write(stage, `${to}/${file}`, compactTypes(readFileSync(path.join(from, file), 'utf8')));
    else if (file === 'LICENSE' || file === 'package.json') copy(path.join(from, file), stage, `${to}/${file}`);
  }
}

/**
 * Removes indentation and the comments that begin a line. References to other files are comments with `///` and stay.
 */
export function compactTypes(types: string): string {
  return types.replace(/^[ \t]*\/\*\*[^]*?\*\/[ \t]*\n/gm, '').replace(/^[ \t]+/gm, '');
}

/** esbuild as WebAssembly, under esbuild's name: the same file runs on every platform. */
async function stageEsbuild(modules: string, stage: string, quality: number): Promise<void> {
  const from = path.join(modules, 'esbuild-wasm');
  const to = `${MODULES}/esbuild`;
  for (const file of ESBUILD_FILES) copy(path.join(from, file), stage, `${to}/${file}`);
  const { version, license } = z
    .object({ version: z.string(), license: z.string() })
    .parse(JSON.parse(readFileSync(path.join(from, 'package.json'), 'utf8')));
  write(stage, `${to}/package.json`, json({ name: 'esbuild', version, license, main: 'lib/main.js' }));
  // VS Code's own runtime executes it: there may be no `node` on the user's PATH.
  let main = readFileSync(path.join(from, 'lib', 'main.js'), 'utf8');
  main = replaceOnce(
    main,
    'return ["node", [path2.join(__dirname, "..", "bin", "esbuild")]];',
    'return [process.execPath, [path2.join(__dirname, "..", "bin", "esbuild")]];',
  );
  main = replaceOnce(
    main,
    'stdio: ["pipe", "pipe", "inherit"],\n    cwd: defaultWD\n',
    'stdio: ["pipe", "pipe", "inherit"],\n    env: { ...process.env, ELECTRON_RUN_AS_NODE: "1" },\n    cwd: ' +
      'defaultWD\n',
  );
  write(stage, `${to}/lib/main.js`, main);
  write(
    stage,
    ESBUILD_WASM,
    await compressed(path.join(from, 'esbuild.wasm'), path.join(modules, '.cache', 'rollout-studio'), quality),
  );
  let bin = readFileSync(path.join(from, 'bin', 'esbuild'), 'utf8');
  // It runs only for a moment: V8 takes longer to optimize this much code than the optimized code saves.
  bin = replaceOnce(
    bin,
    "const module_ = require('module');",
    "require('v8').setFlagsFromString('--liftoff-only');\nconst module_ = require('module');",
  );
  bin = replaceOnce(bin, "'esbuild.wasm'", "'esbuild.wasm.br'");
  bin = replaceOnce(
    bin,
    'new WebAssembly.Module(bytes)',
    "new WebAssembly.Module(require('zlib').brotliDecompressSync(bytes))",
  );
  write(stage, `${to}/bin/esbuild`, bin);
}

function replaceOnce(text: string, what: string, by: string): string {
  if (text.split(what).length !== 2)
    throw new Error(`esbuild-wasm has changed: one of its files must contain exactly once: ${what}`);
  return text.replace(what, () => by);
}

/** Returns the files at or below `place`, relative to `root`, with `/`. */
function filesIn(root: string, place: string): string[] {
  const full = path.join(root, place);
  if (statSync(full).isFile()) return [place];
  return readdirSync(full, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'));
}

function copy(from: string, stage: string, file: string): void {
  const to = path.join(stage, file);
  mkdirSync(path.dirname(to), { recursive: true });
  copyFileSync(from, to);
}

function write(stage: string, file: string, content: string | Uint8Array): void {
  const to = path.join(stage, file);
  mkdirSync(path.dirname(to), { recursive: true });
  writeFileSync(to, content);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
