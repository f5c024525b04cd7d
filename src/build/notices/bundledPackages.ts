/** Finds the packages of node_modules in the bundles, from the metafiles of the builds. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Metafile } from 'esbuild';

/** Folders such as `node_modules/ws`, with `/` on every platform. */
const folders = new Set<string>();

/** Adds the packages whose code is in these outputs. `folder`: the base of the inputs' paths. */
export function addBundled(metafile: Metafile, root: string, folder = root): void {
  for (const { inputs } of Object.values(metafile.outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(inputs)) {
      const file = path.relative(root, path.resolve(folder, input.replace(/^[\w-]+:(?![\\/])/, '')));
      const match = packageFolderOf(file.replaceAll(path.sep, '/'));
      if (match !== undefined && bytesInOutput > 0) folders.add(match);
    }
  }
}

/** Returns `node_modules/ws` for `node_modules/ws/lib/sender.js`; undefined for a file outside of packages. */
export function packageFolderOf(file: string): string | undefined {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
}

/** Where a build writes the list for `npm run notices`, relative to the project. */
export const BUNDLED_LIST = 'dist/.packages.json';

/** Writes the list once all builds are done. */
export function writeBundled(root: string): void {
  writeFileSync(path.join(root, BUNDLED_LIST), `${JSON.stringify([...folders].sort(), null, 2)}\n`);
}
