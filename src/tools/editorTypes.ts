import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { hasOwnZod, nodeTypesFolder, sdkFile, zodFolder } from './productFiles.ts';

/** What the folder below a workspace is called that the product writes into. */
const FOLDER = '.rollout';
const BASE = 'tsconfig.json';

/**
 * Lets editors see the types of `rollout-studio` and `zod` in a workspace without `node_modules`: writes
 * `.rollout/tsconfig.json`, which leads to this installation's files, and a `tsconfig.json` that extends it where
 * there is none. Files of the user are left alone. Writes nothing when all is as it should be.
 *
 * Gives what a user who has a tsconfig of their own must add to it; undefined when nothing.
 */
export async function writeEditorTypes(root: string): Promise<string | undefined> {
  const folder = path.join(root, FOLDER);
  await mkdir(folder, { recursive: true });
  // Nothing in here is anybody's work, and its paths are those of one machine.
  await writeChanged(path.join(folder, '.gitignore'), '*\n');
  await writeChanged(path.join(folder, BASE), `${JSON.stringify(baseConfig(root), undefined, 2)}\n`);
  const own = path.join(root, 'tsconfig.json');
  const existing = await readFile(own, 'utf8').catch(() => undefined);
  if (existing === undefined) {
    await writeFile(
      own,
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
      // Without Node's own types those of the web stand for what Node has of it: fetch, URL, timers.
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

/** Whether the workspace has both packages of its own. */
async function hasInstalled(root: string): Promise<boolean> {
  const ours = await stat(path.join(root, 'node_modules', 'rollout-studio')).catch(() => undefined);
  return ours !== undefined && hasOwnZod(root);
}

/** An editor reads a configuration anew whenever it is written. */
async function writeChanged(file: string, text: string): Promise<void> {
  const before = await readFile(file, 'utf8').catch(() => undefined);
  if (before !== text) await writeFile(file, text);
}

function slashes(file: string): string {
  return file.split(path.sep).join('/');
}
