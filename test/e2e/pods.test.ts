/** The workers of a running batch: in the Batches view, in a list, and their log as a document. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { newId } from '../../src/common/ids.ts';
import { until } from './support/poll.ts';
import { apiOf, SAMPLE_TASKS, sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 120_000;

describe('the workers of a batch', { timeout: 600_000 }, () => {
  const story = new Story('pods', sampleFolder('latency_ms=500&slots=4'));
  let worker = '';

  story.step('are below it in the Batches view while it runs', async () => {
    const { workbench, server } = story.code;
    await workbench.command('Rollout: Launch Batch…');
    await workbench.pick(/desk\.batch\.yaml/);
    await workbench.pickEach([`All ${SAMPLE_TASKS}`, /from the file/i], PATIENCE_MS);
    await story.batch.shown();
    const api = await apiOf(server.store);
    const batch = (await api.batches()).batches[0]?.batch ?? '';
    worker = await until(
      async () => (await api.pods(batch)).pods.find(({ rollouts }) => rollouts.length > 0)?.name,
      PATIENCE_MS,
      'a worker with rollouts',
    );
    // So that it does not end meanwhile, whatever the machine does.
    await api.commandBatch(batch, { command: newId('c'), verb: 'pause', by: 'test' });
    await workbench.command('Rollout: Focus on Batches View');
    await workbench.treeItem(/^Batch /).click();
    await workbench.page.keyboard.press('ArrowRight');
    await workbench.treeItem(/^Workers|^Pods/).click();
    const row = workbench.treeItem(new RegExp(`^Worker ${worker}, running · \\d+ rollouts?`));
    await row.waitFor({ timeout: PATIENCE_MS });
    await row.click();
    await workbench.treeItem(/^Attempt \d+ of .*, (running|held)/).waitFor({ timeout: PATIENCE_MS });
    await story.pictures('pods-tree');
  });

  story.step('open their log, which is followed', async () => {
    const { workbench } = story.code;
    const row = workbench.treeItem(new RegExp(`^Worker ${worker},`));
    await row.hover();
    await row.getByRole('button', { name: 'Show Log of Pod' }).click();
    await workbench.tab(`${worker}.log`).waitFor({ timeout: PATIENCE_MS });
    await workbench.page
      .locator('.editor-group-container.active .view-lines')
      .getByText(/Following.the.log/) // with other spaces
      .waitFor();
  });

  story.step('are listed from the palette, with their events', async () => {
    const { workbench } = story.code;
    await workbench.command('Rollout: Show Pods…');
    await workbench.picks.filter({ hasText: worker }).first().waitFor({ timeout: PATIENCE_MS });
    await story.picture('pods-list');
    await workbench.picks.filter({ hasText: worker }).first().hover();
    await workbench.picks.filter({ hasText: worker }).first().getByRole('button', { name: 'Show Events' }).click();
    await workbench.tab(`${worker} · events.txt`).waitFor({ timeout: PATIENCE_MS });
    const text = await workbench.page.locator('.editor-group-container.active .view-lines').innerText();
    assert.match(text.replaceAll('\u00a0', ' '), /running/);
    await story.pictures('pods-events');
  });
});
