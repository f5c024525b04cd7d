/** `npm run check`: format, types, lint, import rules, generated files, package contents. Exits with 1 if one fails. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { biome, root } from './bundles.ts';
import { strayConnections } from './checks/connections.ts';
import { brokenImports } from './checks/imports.ts';
import { longLines } from './checks/lineLength.ts';
import { packageProblems } from './checks/packageContents.ts';
import { staleManifest } from './manifest.ts';
import { staleNotices } from './notices.ts';
import { staleReference } from './reference.ts';
import { staleSchemas } from './schemas.ts';

const bin = (name: string, file: string): string => path.join(root, 'node_modules', name, file);

interface CheckResult {
  readonly ok: boolean;
  readonly output: string;
}

/** Runs a tool of node_modules with this Node. */
async function runTool(script: string, args: readonly string[]): Promise<CheckResult> {
  const child = spawn(process.execPath, [script, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { ok: child.exitCode === 0, output: out + err };
}

function resultOf(problems: readonly string[]): CheckResult {
  return { ok: problems.length === 0, output: problems.map((problem) => `${problem}\n`).join('') };
}

const CHECKS: readonly (readonly [string, () => CheckResult | Promise<CheckResult>])[] = [
  // The compiler in tsgolint reports type errors, too: each file is checked once, with the nearest tsconfig.json.
  [
    'lint and types',
    () => runTool(bin('oxlint', 'bin/oxlint'), ['--type-aware', '--type-check', 'src', 'webview', 'test']),
  ],
  ['format and import order', () => runTool(biome, ['check', '--colors=off'])],
  ['line length', () => resultOf(longLines(root))],
  ['import rules', () => resultOf(brokenImports(root))],
  ['connections to the outside', () => resultOf(strayConnections(root))],
  ['generated files', () => resultOf([...staleSchemas(root), ...staleManifest(root), ...staleReference(root)])],
  ['package contents', () => resultOf(packageProblems(root))],
  ['third-party notices', () => resultOf(staleNotices(root))],
];

// All run at once.
const results = await Promise.all(
  CHECKS.map(async ([name, check]) => {
    const { ok, output } = await check();
    process.stdout.write(`${output}${ok ? 'ok    ' : 'FAILED'} ${name}\n`);
    return ok;
  }),
);
process.exitCode = results.every(Boolean) ? 0 : 1;
