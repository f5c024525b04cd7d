/** Tasks as VS Code's own tests: listed, run, reported, and failed ones run again. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import type { BatchRow } from '../../src/protocol/client.ts';
import { until } from './support/poll.ts';
import { apiOf, attemptsOf, SAMPLE_TASKS, sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 120_000;

describe('the Testing view', { timeout: 600_000 }, () => {
  // A model that often makes mistakes fails the hard tasks; which ones follows from the seed.
  const folder = sampleFolder('latency_ms=10&mistakes=2');
  const story = new Story('testing', folder);

  async function batches(): Promise<readonly BatchRow[]> {
    return story.code.server.rolloutServer === undefined
      ? []
      : (await (await apiOf(story.code.server.store)).batches()).batches;
  }

  /** The nth batch that was launched here, once it ended. */
  function ended(nth: number): Promise<BatchRow> {
    return until(
      async () => {
        const rows = [...(await batches())].reverse();
        const row = rows[nth];
        return row?.state === 'ended' ? row : undefined;
      },
      PATIENCE_MS,
      `the end of batch ${nth + 1}`,
    );
  }

  story.step('lists the batch files and, below them, their tasks', async () => {
    await story.code.workbench.openView('Testing');
    const file = story.code.workbench.testItem(/first\.batch\.yaml/);
    await file.waitFor({ timeout: PATIENCE_MS });
    await story.code.workbench.testItem(/desk\.batch\.yaml/).click();
    await story.code.page.keyboard.press('ArrowRight');
    await story.code.workbench.testItem(/renew-one/).waitFor({ timeout: PATIENCE_MS });
  });

  story.step('runs a file’s tasks and reports which passed', async () => {
    const row = story.code.workbench.testItem(/desk\.batch\.yaml/);
    await row.hover();
    await row
      .getByRole('button', { name: /^Run Test/ })
      .first()
      .click();
    const batch = await ended(0);
    assert.equal(batch.tasks, SAMPLE_TASKS);
    const attempts = await attemptsOf(await apiOf(story.code.server.store), batch.batch);
    const passed = new Set(
      attempts.filter((attempt) => attempt.progress.passed === true).map((attempt) => attempt.task),
    );
    assert.ok(passed.size > 0 && passed.size < SAMPLE_TASKS, `some tasks pass and some fail, not ${passed.size}`);
    const oneThatFailed = attempts.find((attempt) => !passed.has(attempt.task))?.task ?? '';
    const [oneThatPassed = ''] = passed;
    await story.code.workbench
      .testItem(oneThatPassed)
      .locator('.codicon-testing-passed-icon')
      .waitFor({ timeout: PATIENCE_MS });
    await story.code.workbench
      .testItem(oneThatFailed)
      .locator('.codicon-testing-failed-icon')
      .waitFor({ timeout: PATIENCE_MS });
  });

  story.step('runs again only the failed ones', async () => {
    const first = await ended(0);
    const api = await apiOf(story.code.server.store);
    const attempts = await attemptsOf(api, first.batch);
    const passed = new Set(
      attempts.filter((attempt) => attempt.progress.passed === true).map((attempt) => attempt.task),
    );
    const failing = [...new Set(attempts.map((attempt) => attempt.task))].filter((task) => !passed.has(task)).sort();
    await story.code.workbench.command('Test: Rerun Failed Tests');
    const second = await ended(1);
    const again = [...new Set((await attemptsOf(api, second.batch)).map((attempt) => attempt.task))].sort();
    assert.deepEqual(again, failing);
  });

  story.step('stops the batch of a cancelled run', async () => {
    // So slow that nothing ends by itself before that.
    const agent = path.join(folder, 'agents', 'desk.agent.yaml');
    writeFileSync(agent, readFileSync(agent, 'utf8').replace(/endpoint: .*/, "endpoint: 'demo:?latency_ms=60000'"));
    const row = story.code.workbench.testItem(/first\.batch\.yaml/);
    await row.hover();
    await row
      .getByRole('button', { name: /^Run Test/ })
      .first()
      .click();
    const api = await apiOf(story.code.server.store);
    await until(async () => (await batches())[0]?.counts.running === 1, PATIENCE_MS, 'the attempt');
    await story.code.workbench.command('Test: Cancel Test Run');
    const batch = await ended(2);
    assert.deepEqual([batch.counts.cancelled, batch.counts.running], [1, 0]);
    assert.deepEqual(
      (await attemptsOf(api, batch.batch)).map((attempt) => attempt.progress.status),
      ['cancelled'],
    );
    // It has ended in the view, too, and is neither passed nor failed.
    await until(
      async () => !(await story.code.workbench.offers('Test: Cancel Test Run')),
      PATIENCE_MS,
      'the end of the run',
    );
    await row.locator('.codicon-testing-skipped-icon').waitFor({ timeout: PATIENCE_MS });
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
