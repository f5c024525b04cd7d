/** Builds `dist/` from the sources. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { buildZodInOne, ZOD_IN_ONE } from '../tools/zodInOne.ts';
import { allBuilds, METAFILE, root } from './bundles.ts';
import { addBundled, BUNDLED_LIST, writeBundled } from './notices/bundledPackages.ts';
import { packageVersion } from './packageVersion.ts';

const builds = await Promise.allSettled(
  allBuilds(packageVersion()).map((options) => build({ ...options, metafile: true })),
);
// esbuild has printed the errors and written what could be built.
if (builds.some((done) => done.status === 'rejected')) process.exit(1);

// Outputs of earlier builds are removed only now, so that a failed build keeps the last good one. Files made by
// packaging stay.
const outputs = builds.flatMap((done) => (done.status === 'fulfilled' ? Object.keys(done.value.metafile.outputs) : []));
for (const done of builds) if (done.status === 'fulfilled') addBundled(done.value.metafile, root);
writeBundled(root);
writeFileSync(path.join(root, ZOD_IN_ONE), JSON.stringify(await buildZodInOne()));
const [node] = builds;
if (node?.status === 'fulfilled') writeFileSync(path.join(root, METAFILE), JSON.stringify(node.value.metafile));
const created = new Set(outputs.map((file) => path.join(root, file)));
const dist = path.join(root, 'dist');
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  const file = path.join(entry.parentPath, entry.name);
  if (!entry.isFile() || created.has(file)) continue;
  const place = path.relative(dist, file).split(path.sep);
  if ([BUNDLED_LIST, METAFILE, ZOD_IN_ONE].some((kept) => file === path.join(root, kept))) continue;
  if (place[0] === '.stamp' || place[0] === '.stage' || place[0]?.endsWith('.vsix') === true) continue;
  rmSync(file);
}
