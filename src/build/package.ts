/** `npm run package`: builds `dist/rollout-studio.vsix` from the allowlist and checks the result against it. */
import { statSync } from 'node:fs';
import path from 'node:path';
import { root } from './bundles.ts';
import { RELEASED_ESBUILD } from './vsix/compressed.ts';
import { vsixContents, vsixProblems } from './vsix/contents.ts';
import { makeVsix } from './vsix/make.ts';
import { ESBUILD_WASM } from './vsix/stage.ts';

const vsix = path.join(root, 'dist', 'rollout-studio.vsix');
const stage = path.join(root, 'dist', '.stage');

await makeVsix(root, stage, vsix);
const contents = vsixContents(vsix);
for (const problem of vsixProblems(contents)) {
  console.error(problem);
  process.exitCode = 1;
}
const esbuildBytes = statSync(path.join(stage, ESBUILD_WASM)).size;
if (esbuildBytes !== RELEASED_ESBUILD.bytes) {
  console.error(`RELEASED_ESBUILD in src/build/vsix/compressed.ts must have bytes: ${esbuildBytes}`);
  process.exitCode = 1;
}
console.log(
  `${path.relative(root, vsix)}: ${contents.files.length} files, ${(contents.bytes / 1024 / 1024).toFixed(2)} MB`,
);
