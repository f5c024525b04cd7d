import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageUrl } from '../common/entries.ts';

/** Returns the source of the `rollout-studio` module. */
export function sdkFile(): string {
  return fileURLToPath(packageUrl('src/tools/sdk.ts'));
}

/** Returns the folder of the product's zod, from source or bundle. */
export function zodFolder(): string {
  return path.dirname(createRequire(import.meta.url).resolve('zod/package.json'));
}

/** Returns the folder of Node's types, if installed. */
export function nodeTypesFolder(): string | undefined {
  try {
    return path.dirname(createRequire(import.meta.url).resolve('@types/node/package.json'));
  } catch {
    return undefined;
  }
}

/** Minimum zod version for tools: it can generate JSON Schema. */
const MIN_ZOD = [4, 2] as const;

/**
 * Returns whether modules in `folder` use an installed zod instead of the product's. Types alone (`paths` in tsconfig)
 * do not count. User modules get the product's zod if the installed one is too old; packages keep theirs.
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
