import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageUrl } from '../common/entries.ts';

/** The source of what users import as `rollout-studio`. */
export function sdkFile(): string {
  return fileURLToPath(packageUrl('src/tools/sdk.ts'));
}

/** The folder of the product's own zod, found from wherever this code runs, source or bundle. */
export function zodFolder(): string {
  return path.dirname(createRequire(import.meta.url).resolve('zod/package.json'));
}

/** The folder of the types of Node's own modules; undefined where the installation has none. */
export function nodeTypesFolder(): string | undefined {
  try {
    return path.dirname(createRequire(import.meta.url).resolve('@types/node/package.json'));
  } catch {
    return undefined;
  }
}

/** The oldest zod whose schemas can describe a tool to a model: it writes JSON Schema itself. */
const MIN_ZOD = [4, 2] as const;

/**
 * Whether modules in `folder` use a zod that Node finds there and that is not the product's. Types alone (a `paths` of
 * tsconfig) do not count. A user's own modules get the product's zod instead of one that is too old for tools; an
 * installed package keeps the zod it was written for.
 */
export function hasOwnZod(folder: string): boolean {
  try {
    const found = createRequire(path.join(folder, 'any.js')).resolve('zod/package.json');
    if (path.dirname(found) === zodFolder()) return false;
    return folder.split(path.sep).includes('node_modules') || describesTools(readFileSync(found, 'utf8'));
  } catch {
    return false;
  }
}

function describesTools(packageJson: string): boolean {
  const { version } = JSON.parse(packageJson) as { version?: unknown };
  const [major = 0, minor = 0] = String(version).split('.').map(Number);
  return major > MIN_ZOD[0] || (major === MIN_ZOD[0] && minor >= MIN_ZOD[1]);
}
