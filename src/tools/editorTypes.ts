import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { hasOwnZod, nodeTypesFolder, sdkFile, zodFolder } from './productFiles.ts';

/** Folder in a workspace for generated files. */
const FOLDER = '.rollout';
const BASE = 'tsconfig.json';

/**
 * Makes the types of `rollout-studio` and `zod` available to editors in a workspace without `node_modules`: writes
 * `.rollout/tsconfig.json`, which refers to the files of this installation, and a `tsconfig.json` that extends it,
 * unless there already is one. Does not change files of the user, and writes only what has changed.
 *
 * Returns what a user must add to their own tsconfig, if anything.
 */
export async function writeEditorTypes(root: string): Promise<string | undefined> {
  const folder = path.join(root, FOLDER);
  await mkdir(folder, { recursive: true });
  // Generated files with paths of this machine do not belong in Git.
  await writeChanged(path.join(folder, '.gitignore'), '*\n');
  await writeChanged(path.join(folder, BASE), `${JSON.stringify(baseConfig(root), undefined, 2)}\n`);
  const tsconfigFile = path.join(root, 'tsconfig.json');
  const existing = await readFile(tsconfigFile, 'utf8').catch(() => undefined);
  if (existing === undefined) {
    await writeFile(
      tsconfigFile,
      `${JSON.stringify({ extends: `./${FOLDER}/${BASE}`, include: ['**/*.ts'], exclude: [FOLDER] }, undefined, 2)}\n`,
    );
    return undefined;
  }
  if (existing.includes(`${FOLDER}/${BASE}`) || (await hasInstalled(root))) return undefined;
  return `"extends": "./${FOLDER}/${BASE}"`;
}

function baseConfig(root: string): unknown {
  const nodeTypes = nodeTypesFolder();
  const zod = hasOwnZod(root)
    ? {}
    : { zod: [slashes(path.join(zodFolder(), 'index.d.ts'))], 'zod/*': [slashes(path.join(zodFolder(), '*'))] };
  return {
    compilerOptions: {
      // Without Node's types, the DOM types cover what Node shares with browsers: fetch, URL, timers.
      target: 'ES2023',
      lib: nodeTypes === undefined ? ['ES2023', 'DOM', 'DOM.Iterable'] : ['ES2023'],
      module: 'ESNext',
      moduleResolution: 'bundler',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      resolveJsonModule: true,
      esModuleInterop: true,
      ...(nodeTypes === undefined ? {} : { types: ['node'], typeRoots: [slashes(path.dirname(nodeTypes))] }),
      paths: { 'rollout-studio': [slashes(sdkFile())], ...zod },
    },
  };
}

/** Returns whether both packages are installed in the workspace. */
async function hasInstalled(root: string): Promise<boolean> {
  const sdkStats = await stat(path.join(root, 'node_modules', 'rollout-studio')).catch(() => undefined);
  return sdkStats !== undefined && hasOwnZod(root);
}

/** Writes a file only if it changed, because editors reload a configuration whenever it is written. */
async function writeChanged(file: string, text: string): Promise<void> {
  const before = await readFile(file, 'utf8').catch(() => undefined);
  if (before !== text) await writeFile(file, text);
}

function slashes(file: string): string {
  return file.split(path.sep).join('/');
}
