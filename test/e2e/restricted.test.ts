/** A folder that is not trusted: it can be read, and nothing of it runs. */
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { after, before, describe } from 'node:test';
import { sampleFolder } from './support/sample.ts';
import { Steps } from './support/steps.ts';
import { VsCode } from './support/vscode.ts';

describe('Restricted Mode', { timeout: 300_000 }, () => {
  const folder = sampleFolder();
  let code: VsCode;
  const story = new Steps('restricted');
  before(async () => {
    code = await VsCode.start({ workspaceFolder: folder, trusted: false, settings: { 'security.workspace.trust.startupPrompt': 'never' } });
  });
  after(async () => {
    await code.close(story.failed);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  });

  story.step('the views say why they are empty', async () => {
    await code.workbench.openView('Rollout');
    await code.page.locator('.welcome-view-content:visible').filter({ hasText: /Restricted Mode/ }).first().waitFor();
  });

  story.step('the workspace’s agents can be read all the same', async () => {
    await code.workbench.treeItem(/desk/).waitFor();
  });

  story.step('no command that runs anything is offered', async () => {
    await code.workbench.openFile('batches/desk.batch.yaml');
    for (const title of ['Launch Batch…', 'Launch Again', 'Import…', 'Open Batch…', 'Start Server']) {
      assert.equal(await code.workbench.offers(`Rollout: ${title}`), false, title);
    }
    assert.equal(await code.workbench.offers('Rollout: Show Log'), true, 'the extension is there');
    assert.equal(await code.workbench.codeLens(/Launch/).isVisible(), false);
  });

  story.step('no server was started', () => {
    assert.equal(code.server.rolloutServer, undefined);
    assert.equal(existsSync(code.server.store), false, 'not even a store');
    assert.deepEqual(code.consoleErrors(), []);
  });
});
