import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { VsCode } from './support/vscode.ts';

describe('the installed .vsix', { timeout: 180_000 }, () => {
  const workspaceFolder = mkdtempSync(path.join(os.tmpdir(), 'rollout-e2e-'));
  let code: VsCode | undefined;
  let failed: string | undefined = 'installed';
  before(async () => {
    code = await VsCode.start({ workspaceFolder });
  });
  after(async () => {
    await code?.close(failed);
    rmSync(workspaceFolder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  });

  it('is installed, with what it starts', () => {
    const folder = code!.server.extensionFolder('rollout-studio.rollout-studio');
    for (const file of ['dist/extension.cjs', 'dist/server.mjs', 'dist/webview/page.js', 'dist/node_modules/esbuild/esbuild.wasm']) assert.ok(existsSync(path.join(folder, file)), file);
  });
  it('is activated by a command, and the console has nothing to say', async () => {
    await code!.workbench.command('Rollout: Show Log');
    await code!.page.locator('.part.panel').getByText('Output', { exact: true }).first().waitFor();
    assert.deepEqual(code!.consoleErrors(), []);
    failed = undefined;
  });
});
