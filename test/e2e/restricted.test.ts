/** An untrusted folder: it can be read, and nothing of it runs. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

describe('Restricted Mode', { timeout: 300_000 }, () => {
  const folder = sampleFolder();
  const world = path.join(folder, 'worlds', 'library.world.yaml');
  writeFileSync(world, readFileSync(world, 'utf8').replace('module:', 'modul:'));
  const story = new Story('restricted', folder, {
    trusted: false,
    settings: { 'security.workspace.trust.startupPrompt': 'never' },
  });

  story.step('the views say why they are empty', async () => {
    await story.code.workbench.openView('Rollout');
    await story.code.page
      .locator('.welcome-view-content:visible')
      .filter({ hasText: /Restricted Mode/ })
      .first()
      .waitFor();
  });

  story.step('the workspace’s agents can still be read', async () => {
    await story.code.workbench.treeItem(/desk/).waitFor();
  });

  story.step('files are still checked', async () => {
    await story.code.workbench.openFile('worlds/library.world.yaml');
    await story.code.workbench.squiggle('error').waitFor({ timeout: 60_000 });
  });

  story.step('no command that runs anything is offered', async () => {
    await story.code.workbench.openFile('batches/desk.batch.yaml');
    for (const title of [
      'Launch Batch…',
      'Launch Again',
      'Import…',
      'Open Batch…',
      'Start Server',
      'Try Tool…',
      'Add MCP Server…',
      'Import Tools from OpenAPI…',
    ]) {
      assert.equal(await story.code.workbench.offers(`Rollout: ${title}`), false, title);
    }
    assert.equal(await story.code.workbench.offers('Rollout: Show Log'), true, 'the extension is there');
    assert.equal(await story.code.workbench.codeLens(/Launch/).isVisible(), false);
  });

  story.step('no server was started', () => {
    assert.equal(story.code.server.rolloutServer, undefined);
    assert.equal(existsSync(story.code.server.store), false, 'not even a store');
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
