/** The package: the .vsix is installed whole, starts, and is quiet. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { emptyFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

describe('the installed .vsix', { timeout: 180_000 }, () => {
  const story = new Story('installed', emptyFolder(), { installs: true });

  story.step('has what it starts', () => {
    const folder = story.code.server.extensionFolder('rollout-studio.rollout-studio');
    for (const file of [
      'dist/extension.mjs',
      'dist/server.mjs',
      'dist/webview/page.js',
      'dist/node_modules/esbuild/esbuild.wasm.br',
    ])
      assert.ok(existsSync(path.join(folder, file)), file);
  });

  story.step('is activated by a command, and the console stays empty', async () => {
    await story.code.workbench.command('Rollout: Show Log');
    await story.code.page.locator('.part.panel').getByText('Output', { exact: true }).first().waitFor();
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
