import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { brokenImports } from '../../../src/build/imports.ts';

describe('the import rules', () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'rollout-imports-'));
  after(() => rmSync(root, { recursive: true, force: true }));
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(path.join(root, 'src', file)), { recursive: true });
    writeFileSync(path.join(root, 'src', file), text);
  };
  write('common/a.ts', "import fs from 'node:fs';\nexport const a = fs;\n");
  write('trace/b.ts', "import type { Server } from '../server/s.ts';\nexport { a } from '../common/a.ts';\nexport type T = Server;\n");
  write('rollout/c.ts', "export const load = () => import('../model/client.ts');\n");
  write('server/main.ts', "import '../worker/w.ts';\n");
  write('server/s.ts', "import '../worker/w.ts';\nimport * as vscode from 'vscode';\nexport type Server = typeof vscode;\n");
  write('elsewhere/x.ts', '');

  it('finds what a room may not import, dynamic imports included', () => {
    assert.deepEqual(brokenImports(root).map((line) => line.split(': ')[0]).sort(), [
      'src/common/a.ts:1', 'src/elsewhere/x.ts:1', 'src/rollout/c.ts:1', 'src/server/s.ts:1', 'src/server/s.ts:2',
    ]);
  });
  it('lets types pass, and main.ts compose', () => {
    assert.deepEqual(brokenImports(root).filter((line) => line.includes('trace/b.ts') || line.includes('main.ts')), []);
  });
});
