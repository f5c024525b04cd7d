/** `npm run check`: types, lint, import rules, generated files, package contents. Ends with 1 when one fails. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from './bundles.ts';
import { brokenImports } from './checks/imports.ts';
import { staleManifest } from './manifest.ts';
import { packageProblems } from './checks/packageContents.ts';
import { staleSchemas } from './schemas.ts';

const bin = (name: string, file: string): string => path.join(root, 'node_modules', name, file);

/** Runs a tool of node_modules with this Node; its output goes through. */
function runs(script: string, args: readonly string[]): boolean {
  return spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: 'inherit' }).status === 0;
}

function reports(problems: readonly string[]): boolean {
  for (const problem of problems) console.error(problem);
  return problems.length === 0;
}

/** What runs in Node; what runs in a page; the tests that look into a page. */
const PROJECTS = ['.', 'webview', 'test/webview'];

const CHECKS: readonly (readonly [string, () => boolean])[] = [
  ['types', () => PROJECTS.filter((project) => !runs(bin('typescript', 'bin/tsc'), ['-p', project])).length === 0],
  ['lint', () => runs(bin('eslint', 'bin/eslint.js'), ['--config', 'src/build/eslint.config.js', '--max-warnings', '0', 'src', 'webview', 'test'])],
  ['import rules', () => reports(brokenImports(root))],
  ['generated files', () => reports([...staleSchemas(root), ...staleManifest(root)])],
  ['package contents', () => reports(packageProblems(root))],
];

let failed = 0;
for (const [name, check] of CHECKS) {
  const ok = check();
  if (!ok) failed += 1;
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name}`);
}
process.exitCode = failed === 0 ? 0 : 1;
