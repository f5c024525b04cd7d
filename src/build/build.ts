/** Makes `dist/` from the sources. */
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { nodeBuild, root } from './bundles.ts';

const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
const { metafile } = await build({ ...nodeBuild(manifest.version), metafile: true });

// What an earlier build left goes only now, so that a failed build leaves the last good one.
const made = new Set(Object.keys(metafile.outputs).map((file) => path.join(root, file)));
for (const entry of readdirSync(path.join(root, 'dist'), { recursive: true, withFileTypes: true })) {
  const file = path.join(entry.parentPath, entry.name);
  if (entry.isFile() && entry.name !== '.stamp' && !made.has(file)) rmSync(file);
}
