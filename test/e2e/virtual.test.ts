/** A virtual workspace: it can be read and edited, and nothing of it is launched. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe } from 'node:test';
import { root } from '../support/cli.ts';
import { memoryFiles } from './support/memoryFiles.ts';
import { emptyFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const folder = emptyFolder();
const virtual = await memoryFiles(folder, path.join(root, 'media', 'sample'));

describe('a virtual workspace', { timeout: 300_000 }, () => {
  const story = new Story('virtual', folder, { virtual });

  story.step('the views say what is possible', async () => {
    const { workbench, page } = story.code;
    await workbench.openView('Rollout');
    await page
      .locator('.welcome-view-content:visible')
      .filter({ hasText: /This is a virtual workspace/ })
      .first()
      .waitFor();
    await workbench.treeItem(/desk/).waitFor();
  });

  story.step('a batch file opens, and nothing offers to launch it', async () => {
    const { workbench } = story.code;
    await workbench.treeItem(/desk/).click();
    await workbench.tab(/desk\.agent\.yaml/).waitFor();
    for (const title of ['Launch Batch…', 'Launch on This Task'])
      assert.equal(await workbench.offers(`Rollout: ${title}`), false, title);
    assert.equal(await workbench.codeLens(/Launch/).isVisible(), false);
  });

  story.step('features without a workspace are available', async () => {
    assert.equal(await story.code.workbench.offers('Rollout: Import…'), true);
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
