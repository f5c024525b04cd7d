import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { compactTypes } from '../../../src/build/vsix/stage.ts';

const modules = path.resolve(import.meta.dirname, '../../../node_modules');

test('documentation and indentation are removed from types; references and code stay', () => {
  assert.equal(
    compactTypes(
      '/// <reference types="x" />\n/**\n * Text.\n */\n    a(): void; // b\n  /** One line. */\nc: "/**";\n',
    ),
    '/// <reference types="x" />\na(): void; // b\nc: "/**";\n',
  );
});

test('Node’s types without documentation are complete', { timeout: 60_000 }, () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'types-'));
  try {
    for (const name of ['@types/node', 'undici-types'])
      for (const file of readdirSync(path.join(modules, name), { recursive: true, encoding: 'utf8' })) {
        if (!file.endsWith('.d.ts') && file !== 'package.json') continue;
        const to = path.join(folder, 'node_modules', name, file);
        mkdirSync(path.dirname(to), { recursive: true });
        writeFileSync(to, compactTypes(readFileSync(path.join(modules, name, file), 'utf8')));
      }
    writeFileSync(
      path.join(folder, 'a.ts'),
      `import assert from 'node:assert/strict';
import { test } from 'node:test';
test('a', async () => {
  await assert.rejects(fetch(process.cwd()), { message: 'b' });
  const n: string = setTimeout(() => {}, 1);
});
`,
    );
    const args = ['--noEmit', '--strict', '--target', 'ES2023', '--lib', 'ES2023', '--module', 'ESNext'];
    const tsc = spawnSync(
      process.execPath,
      [path.join(modules, 'typescript/bin/tsc'), ...args, '--moduleResolution', 'bundler', '--types', 'node', 'a.ts'],
      { cwd: folder, encoding: 'utf8' },
    );
    assert.equal(tsc.stdout.trim(), "a.ts(5,9): error TS2322: Type 'Timeout' is not assignable to type 'string'.");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
