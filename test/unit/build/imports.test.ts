import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { brokenImports } from '../../../src/build/checks/imports.ts';

describe('the import rules', () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'rollout-imports-'));
  after(() => rmSync(root, { recursive: true, force: true }));
  const write = (file: string, text: string, top = 'src'): void => {
    mkdirSync(path.dirname(path.join(root, top, file)), { recursive: true });
    writeFileSync(path.join(root, top, file), text);
  };
  write('common/a.ts', "import fs from 'node:fs';\nexport const a = fs;\n");
  write(
    'trace/b.ts',
    "import type { Server } from '../server/s.ts';\nexport { a } from '../common/a.ts';\nexport type T = Server;\n",
  );
  write('rollout/c.ts', "export const load = () => import('../model/client.ts');\n");
  write('server/main.ts', "import '../worker/w.ts';\n");
  write(
    'server/s.ts',
    "import '../worker/w.ts';\nimport * as vscode from 'vscode';\nexport type Server = typeof vscode;\n",
  );
  write('elsewhere/x.ts', '');
  write(
    'host/h.ts',
    "import * as vscode from 'vscode';\nimport '../client/connect.ts';\nimport '../store/open.ts';\nexport { " +
      'vscode };\n',
  );
  write(
    'extension.ts',
    "import * as vscode from 'vscode';\nimport './host/h.ts';\nimport './worker/w.ts';\nexport { vscode };\n",
  );
  write('trace/page.ts', "import '../../webview/main.tsx';\n");
  write(
    'stories/all.ts',
    "import '../main.tsx';\nimport '../../test/support/x.ts';\nimport '../../src/server/s.ts';\n",
    'webview',
  );
  write('page.tsx', "import './stories/all.ts';\nimport '../test/support/x.ts';\n", 'webview');
  write(
    'main.tsx',
    "import './page/grid.tsx';\nimport '../src/trace/b.ts';\nimport '../src/client/connect.ts';\nimport " +
      "'node:fs';\nimport type { Server } from '../src/server/s.ts';\nimport '../media/x.svg';\nexport type T = " +
      'Server;\n',
    'webview',
  );

  it('find what a room may not import, including dynamic imports', () => {
    assert.deepEqual(
      brokenImports(root)
        .map((line) => line.split(': ')[0])
        .sort(),
      [
        'src/common/a.ts:1',
        'src/elsewhere/x.ts:1',
        'src/extension.ts:3',
        'src/host/h.ts:3',
        'src/rollout/c.ts:1',
        'src/server/s.ts:1',
        'src/server/s.ts:2',
        'src/trace/page.ts:1',
        'webview/main.tsx:3',
        'webview/main.tsx:4',
        'webview/main.tsx:6',
        'webview/page.tsx:1',
        'webview/page.tsx:2',
        'webview/stories/all.ts:3',
      ],
    );
  });
  it('allow types, and composition in main.ts', () => {
    assert.deepEqual(
      brokenImports(root).filter((line) => line.startsWith('src/trace/b.ts') || line.startsWith('src/server/main.ts')),
      [],
    );
  });
});
