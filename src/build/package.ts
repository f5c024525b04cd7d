/**
 * `npm run package`: makes `dist/rollout-studio.vsix` from what the allowlist names, and holds the result against it.
 */
import path from 'node:path';
import { root } from './bundles.ts';
import { vsixContents, vsixProblems } from './vsix/contents.ts';
import { makeVsix } from './vsix/make.ts';

const vsix = path.join(root, 'dist', 'rollout-studio.vsix');

await makeVsix(root, path.join(root, 'dist', '.stage'), vsix);
const contents = vsixContents(vsix);
for (const problem of vsixProblems(contents)) {
  console.error(problem);
  process.exitCode = 1;
}
console.log(
  `${path.relative(root, vsix)}: ${contents.files.length} files, ${(contents.bytes / 1024 / 1024).toFixed(2)} MB`,
);
