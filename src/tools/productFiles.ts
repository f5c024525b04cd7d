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

/**
 * Whether Node finds a zod from `folder` that is not the product's. Types alone (a `paths` of tsconfig) do not count.
 */
export function hasOwnZod(folder: string): boolean {
  try {
    const found = createRequire(path.join(folder, 'any.js')).resolve('zod/package.json');
    return path.dirname(found) !== zodFolder();
  } catch {
    return false;
  }
}
