// The panels of the batch page: their widths, what they show, and that none is drawn without data.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('batch');

/** Waits until this panel is drawn; then all are. */
async function panels(page: Page, name: string): Promise<(readonly [string, number])[]> {
  await page.locator(`.batch-panels:not([aria-busy]) [aria-label="${name}"]`).waitFor();
  return page
    .locator('.batch-panel')
    .evaluateAll((all) =>
      all.map((one) => [one.getAttribute('aria-label') ?? '', one.getBoundingClientRect().width] as const),
    );
}

describe('the panels of the batch page', { timeout: 300_000 }, () => {
  it('leave all the width but that of pass@k and Run to the causes', () =>
    open('ended', async (page) => {
      for (const width of [1388, 1045]) {
        await page.setViewportSize({ width, height: 600 });
        assert.deepEqual(await panels(page, 'Causes'), [
          ['pass@k', 276],
          ['Run', 252],
          ['Causes', width - 276 - 252],
        ]);
      }
      await page.setViewportSize({ width: 700, height: 600 });
      await page.waitForFunction(() => document.querySelector('.batch-panel.is-causes')?.clientWidth === 700);
      assert.deepEqual(await panels(page, 'Causes'), [
        ['pass@k', 350],
        ['Run', 350],
        ['Causes', 700],
      ]);
    }));

  it('show throughput, model server, tokens, and their limit in one panel, all of them inside', () =>
    open('token-limit-soon', async (page) => {
      await panels(page, 'Run');
      const run = page.getByRole('region', { name: 'Run' });
      assert.deepEqual(await run.locator('.run-row > :first-child').allTextContents(), [
        'rollouts/h',
        'in flight',
        'queue',
        'KV cache',
        'tokens',
        'of 21.0M',
      ]);
      assert.match(
        await run.locator('.run-detail').innerText(),
        /^\d+% cached, output [\d.]+[kM], uncounted [\d.]+[kM]$/,
      );
      assert.match(
        (await run.locator('.run-detail').getAttribute('title')) ?? '',
        /^input .* cached\)\noutput .*\nuncounted /,
      );
      const outside = await run.evaluate((panel) => {
        const { bottom } = panel.getBoundingClientRect();
        return [...panel.querySelectorAll('.run-row, .run-detail, svg')].filter(
          (part) => part.getBoundingClientRect().bottom > bottom,
        ).length;
      });
      assert.equal(outside, 0);
    }));

  it('count the outcomes of a published world apart', () =>
    open('outcomes', async (page) => {
      assert.deepEqual(
        (await panels(page, 'Outcomes')).map(([name]) => name),
        ['pass@k', 'Run', 'Outcomes', 'Causes'],
      );
      const rows = await page.getByRole('region', { name: 'Outcomes' }).locator('li').allInnerTexts();
      assert.deepEqual(
        rows.map((text) => text.replace(/\s*[\d,]+$/, '')),
        ['complete', 'partial', 'agent error', 'format error'],
      );
    }));

  it('have the accuracy of predictions for each tool, the worst first', () =>
    open('predictions', async (page) => {
      assert.deepEqual(
        (await panels(page, 'Prediction accuracy')).map(([name]) => name),
        ['pass@k', 'Run', 'Prediction accuracy', 'Causes'],
      );
      const panel = page.getByRole('region', { name: 'Prediction accuracy' });
      const rows = await panel.locator('li').evaluateAll((all) => all.map((one) => one.getAttribute('title') ?? ''));
      assert.deepEqual(
        rows.map((text) => text.split(':')[0]),
        ['renew_loan', 'loans_of', 'find_member'],
      );
      assert.match(
        rows[1] ?? '',
        /^loans_of: 9\d%\n\d+ predicted calls, \d+ right, \d+ failed: status 100%, keys 100%/,
      );
      assert.match(await panel.locator('.batch-panel-note').innerText(), /^9\d%$/);
    }));

  it('are not drawn without a value: no pass@k before an attempt is scored, no Run without times', async () => {
    await open('not-begun', async (page) => {
      assert.deepEqual(
        (await panels(page, 'Run')).map(([name]) => name),
        ['Run', 'Causes'],
      );
    });
    await open('imported', async (page) => {
      assert.deepEqual(
        (await panels(page, 'Causes')).map(([name]) => name),
        ['pass@k', 'Causes'],
      );
      await page.setViewportSize({ width: 440, height: 600 });
      await page.locator('.batch-number').first().waitFor();
      assert.deepEqual(await page.locator('.batch-number h2').allTextContents(), [
        'pass@1',
        'most often: answer wrong',
      ]);
    });
  });
});
