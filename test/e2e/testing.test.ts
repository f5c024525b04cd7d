/** Tasks as VS Code's own tests: listed, run, told, and what failed run again. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe } from 'node:test';
import type { BatchRow } from '../../src/protocol/client.ts';
import { until } from './support/poll.ts';
import { apiOf, attemptsOf, sampleFolder, SAMPLE_TASKS } from './support/sample.ts';
import { Steps } from './support/steps.ts';
import { VsCode } from './support/vscode.ts';

const PATIENCE_MS = 120_000;

describe('the Testing view', { timeout: 600_000 }, () => {
  // A model that slips often fails the hard tasks; which ones follows from the seed.
  const folder = sampleFolder('latency_ms=10&mistakes=2');
  let code: VsCode;
  const story = new Steps('testing');
  before(async () => {
    code = await VsCode.start({ workspaceFolder: folder });
  });
  after(async () => {
    await code.close(story.failed);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  });

  async function batches(): Promise<readonly BatchRow[]> {
    return code.server.rolloutServer === undefined ? [] : (await (await apiOf(code.server.store)).batches()).batches;
  }

  /** The nth batch that was launched here, once it ended. */
  function ended(nth: number): Promise<BatchRow> {
    return until(async () => {
      const rows = [...(await batches())].reverse();
      const row = rows[nth];
      return row?.state === 'ended' ? row : undefined;
    }, PATIENCE_MS, `the end of batch ${nth + 1}`);
  }

  story.step('lists the batch files and, below them, their tasks', async () => {
    await code.workbench.openView('Testing');
    const file = code.workbench.testItem(/first\.batch\.yaml/);
    await file.waitFor({ timeout: PATIENCE_MS });
    await code.workbench.testItem(/desk\.batch\.yaml/).click();
    await code.page.keyboard.press('ArrowRight');
    await code.workbench.testItem(/renew-one/).waitFor({ timeout: PATIENCE_MS });
  });

  story.step('runs a file’s tasks and tells which passed', async () => {
    const row = code.workbench.testItem(/desk\.batch\.yaml/);
    await row.hover();
    await row.getByRole('button', { name: /^Run Test/ }).first().click();
    const batch = await ended(0);
    assert.equal(batch.tasks, SAMPLE_TASKS);
    const attempts = await attemptsOf(await apiOf(code.server.store), batch.batch);
    const passed = new Set(attempts.filter((attempt) => attempt.progress.passed === true).map((attempt) => attempt.task));
    assert.ok(passed.size > 0 && passed.size < SAMPLE_TASKS, `some tasks pass and some fail, not ${passed.size}`);
    const oneThatFailed = attempts.find((attempt) => !passed.has(attempt.task))?.task ?? '';
    const [oneThatPassed = ''] = passed;
    await code.workbench.testItem(oneThatPassed).locator('.codicon-testing-passed-icon').waitFor({ timeout: PATIENCE_MS });
    await code.workbench.testItem(oneThatFailed).locator('.codicon-testing-failed-icon').waitFor({ timeout: PATIENCE_MS });
  });

  story.step('runs again only what failed', async () => {
    const first = await ended(0);
    const api = await apiOf(code.server.store);
    const attempts = await attemptsOf(api, first.batch);
    const passed = new Set(attempts.filter((attempt) => attempt.progress.passed === true).map((attempt) => attempt.task));
    const failing = [...new Set(attempts.map((attempt) => attempt.task))].filter((task) => !passed.has(task)).sort();
    await code.workbench.command('Test: Rerun Failed Tests');
    const second = await ended(1);
    const again = [...new Set((await attemptsOf(api, second.batch)).map((attempt) => attempt.task))].sort();
    assert.deepEqual(again, failing);
    assert.deepEqual(code.consoleErrors(), []);
  });
});
