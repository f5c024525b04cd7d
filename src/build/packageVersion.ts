import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './bundles.ts';

/** Returns the version in package.json. */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}
