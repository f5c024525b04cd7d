/**
 * From the open sample workspace to the reason why an attempt failed, typed as by a person: one command with four times
 * Enter, then N, then Enter. The focus is where the status line says, whatever happened before.
 */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { Person } from './support/person.ts';
import { until } from './support/poll.ts';
import { apiOf, attemptsOf, SAMPLE_ATTEMPTS, SAMPLE_TASKS, sampleFolder } from './support/sample.ts';
import { Story } from './support/story.ts';

const PATIENCE_MS = 120_000;
const ALL = SAMPLE_TASKS * SAMPLE_ATTEMPTS;

describe('why an attempt failed', { timeout: 600_000 }, () => {
  // As slow as a real model, so that the page is there before the first attempt ends, also on a busy machine; and all
  // attempts at once.
  const story = new Story('why', sampleFolder('latency_ms=4000&slots=96'));
  const person = new Person(() => story.code.page);

  async function rows(): Promise<RolloutRow[]> {
    const api = await apiOf(story.code.server.store);
    return attemptsOf(api, await batchId());
  }

  async function batchId(): Promise<string> {
    return (await (await apiOf(story.code.server.store)).batches()).batches[0]?.batch ?? '';
  }

  /** Waits for the answers of a quick pick, which a person reads before pressing Enter. */
  const offers = (title: string | RegExp): Promise<void> =>
    story.code.workbench.picks.filter({ hasText: title }).first().waitFor({ timeout: PATIENCE_MS });

  /** The accessible name of the cell at the cursor. */
  const cursor = async (): Promise<string> =>
    (await story.batch.frame.getByRole('gridcell', { selected: true }).first().getAttribute('aria-label')) ?? '';

  /** Presses an arrow key without a click before, and waits until the cursor of the grid has moved. */
  async function arrowMoves(key: string, after: string): Promise<void> {
    const before = await cursor();
    await person.press(key);
    await until(
      async () => ((await cursor()) === before ? undefined : true),
      20_000,
      `${key} to move the cursor of the grid ${after}`,
    );
  }

  /** Waits until this page's part has the focus. */
  async function focused(role: string, after: string): Promise<void> {
    await until(
      () =>
        story.batch.frame
          .locator('body')
          .evaluate(
            ({ ownerDocument: page }, name) =>
              page.hasFocus() && page.activeElement?.closest(`[role="${name}"]`) != null,
            role,
          ),
      30_000,
      `the focus on the ${role} ${after}`,
    );
  }

  story.step('one command and its questions launch the batch, with Enter four times', async () => {
    await person.press('F1');
    await story.code.workbench.input.waitFor();
    await person.type('Rollout: Launch Batch');
    await offers('Rollout: Launch Batch…');
    await person.press('Enter');
    await offers('batches/desk.batch.yaml');
    await person.press('Enter');
    await offers(`All ${SAMPLE_TASKS}`);
    await person.press('Enter');
    await offers(/from the file/i);
    await person.press('Enter');
  });

  story.step('the page is there before the first attempt ends, and says what it waits for', async () => {
    const { batch } = story;
    await batch.progress.waitFor({ timeout: PATIENCE_MS });
    assert.match(await batch.progress.innerText(), new RegExp(`^0/${ALL}`));
    await batch.frame.locator('.batch-startup').filter({ hasText: /\w/ }).waitFor();
    await batch.frame
      .getByRole('gridcell', { name: / attempt \d+: running/ })
      .first()
      .waitFor({ timeout: PATIENCE_MS });
    await focused('grid', 'after the launch');
  });

  story.step('N and Enter open the first attempt that did not pass, at the reason', async () => {
    const { batch, trajectory } = story;
    // A person looks until the first rows are done.
    await until(
      async () => (await rows()).every(({ state }) => state === 'ended') || undefined,
      300_000,
      'the end of the batch',
    );
    await until(
      async () => (await batch.progress.innerText()).startsWith(`${ALL}/`) || undefined,
      PATIENCE_MS,
      'the page at the end of the batch',
    );
    await person.press('n');
    await until(
      async () => (/: (?:failed|truncated)/.test(await cursor()) ? true : undefined),
      20_000,
      'the cursor on an attempt that did not pass',
    );
    const [, task = '', attempt] = /^(\S+) attempt (\d+):/.exec(await cursor()) ?? [];
    await person.press('Enter');
    await trajectory.shown();
    const row = (await rows()).find((each) => each.task === task && each.attempt === Number(attempt));
    const cause = row?.progress.cause?.text;
    assert.ok(cause !== undefined && cause !== '', 'its cause is recorded');
    await trajectory.frame.locator('.verdict').filter({ hasText: cause }).first().waitFor();
    assert.deepEqual(person.pressed, ['F1', 'Enter', 'Enter', 'Enter', 'Enter', 'n', 'Enter']);
    const { at } = await trajectory.position();
    await person.press('j');
    await trajectory.arrives((now) => now === at + 1, 'the next row, with J and without a click');
  });

  story.step('every attempt that did not pass has a cause, and none is unknown', async () => {
    const failed = (await rows()).filter(({ progress }) => progress.passed !== true);
    assert.ok(failed.length > 30, `${failed.length} failed`);
    for (const { task, attempt, progress } of failed)
      assert.match(
        progress.cause?.text ?? '',
        /^(?!.*(?:No cause|no error|other)\b)./i,
        `${task} attempt ${attempt}: ${JSON.stringify(progress.cause)}`,
      );
  });

  story.step('the grid has the focus again after a switch of tabs', async () => {
    await person.press('Control+PageUp');
    await story.batch.shown();
    await focused('grid', 'after a switch of tabs');
    await arrowMoves('ArrowDown', 'after a switch of tabs');
  });

  story.step('and after the palette and a dialog', async () => {
    await person.press('F1');
    await story.code.workbench.input.waitFor();
    await person.press('Escape');
    await story.code.workbench.input.waitFor({ state: 'hidden' });
    await arrowMoves('ArrowUp', 'after the palette');
    await person.press('?');
    await story.batch.frame.getByRole('dialog').waitFor();
    await person.press('Escape');
    await story.batch.frame.getByRole('dialog').waitFor({ state: 'detached' });
    await arrowMoves('ArrowDown', 'after a dialog');
  });

  story.step('and after a reload', async () => {
    await story.code.reload(await batchId());
    await story.batch.shown();
    await focused('grid', 'after a reload');
    await arrowMoves('ArrowDown', 'after a reload');
  });

  story.step('nothing was reported as an error', () => {
    assert.deepEqual(story.code.consoleErrors(), []);
  });
});
