/**
 * The workers of a running batch: in the Batches view, in a list, and their log as a document. Then a server that two
 * users share.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe } from 'node:test';
import { newId } from '../../src/common/ids.ts';
import { expand } from './support/expand.ts';
import { until } from './support/poll.ts';
import { apiOf, SAMPLE_TASKS, sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';
import { Team } from './support/team.ts';

const PATIENCE_MS = 120_000;

describe('the workers of a batch', { timeout: 600_000 }, () => {
  const story = new Story('pods', sampleFolder('latency_ms=500&slots=4'));
  let worker = '';
  let team: Team | undefined;
  after(() => team?.[Symbol.asyncDispose]());

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

  story.step('share a server with others: a launch shows what is left, and the Targets view who waits', async () => {
    const { workbench, server } = story.code;
    team = await Team.start(server.store, {
      users: { ann: { weight: 2, rollouts: 2 } },
      queues: { research: { weight: 2, rollouts: 50, tokens_per_hour: 50_000_000 }, nightly: {} },
    });
    await team.launch('survey', { queue: 'nightly', concurrency: 8 }, 400);
    const file = path.join(story.folder, 'batches', 'desk.batch.yaml');
    writeFileSync(file, `${readFileSync(file, 'utf8')}\nqueue: research\n`);
    await workbench.command('Rollout: Select Target…');
    await workbench.pick('team');
    await workbench.command('Rollout: Launch Batch…');
    await workbench.pick(/desk\.batch\.yaml/);
    await workbench.pickEach(['Same as last time', 'team'], PATIENCE_MS);
    const review = workbench.picks;
    await review
      .filter({ hasText: /Launch 96 attempts on team/ })
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    assert.match(await review.first().innerText(), /Starts with 2 rollouts of 96; more follow as others end/);
    for (const line of [
      /queue research.*gets 67%, uses 0%/s,
      /ann.*uses 0%/s,
      /Tokens per hour of research.*0 of 50\.0M used/s,
      /Rollouts of ann.*0 of 2 run · 2 of 96 start now/s,
    ])
      await review.filter({ hasText: line }).first().waitFor();
    await story.picture('launch-review');
    await workbench.input.press('Enter'); // the first row; the hover of one may cover it for the mouse
    await story.batch.shown();
    await workbench.command('Rollout: Launch Again');
    await workbench.inputTitle.filter({ hasText: 'Launch Again: desk' }).waitFor({ timeout: PATIENCE_MS });
    for (const line of [
      /Launch 96 attempts on team.*more follow|Launch 96 attempts on team.*Waits/s,
      /Rollouts of ann/,
    ])
      await review.filter({ hasText: line }).first().waitFor({ timeout: PATIENCE_MS });
    await story.picture('launch-again');
    await workbench.input.press('Escape');
    await workbench.command('Rollout: Focus on Targets View');
    for (const other of ['Batches', 'Agents and Tools'])
      await workbench.page.getByRole('button', { name: `${other} Section` }).click();
    await expand(workbench, /^Target team/, /^Queues and Users/, PATIENCE_MS);
    await expand(workbench, /^Queues and Users/, /^Queue research, /, PATIENCE_MS);
    await expand(workbench, /^Waiting, 1 batch/, /^Batch desk/, PATIENCE_MS);
    for (const row of [/^Queue research, /, /^Queue nightly, /, /^User ann, .*2 of 2 rollouts/, /^User bob, /])
      await workbench.treeItem(row).waitFor({ timeout: PATIENCE_MS });
    // Why, and at which place. The batch of bob is private, so it is not in the list.
    await workbench
      .treeItem(/^Batch desk.* waits, 1st of 1: ann may run 2 rollouts at once\./)
      .waitFor({ timeout: PATIENCE_MS });
    await story.pictures('shares-targets');
  });
});
