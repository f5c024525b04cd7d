// Predictions on the trajectory page: asking for one, stopping it, and finding where a recorded one was wrong.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('trajectory', 'predictions');

/** Waits for an action of the page for its host. */
async function requested(page: Page, what: string): Promise<void> {
  await page.waitForFunction((wanted) => {
    const action = JSON.parse(document.body.dataset['action'] ?? '{}') as { do?: string; what?: string };
    return action.do === 'predict' && action.what === wanted;
  }, what);
  await page.evaluate(() => delete document.body.dataset['action']);
}

describe('predictions on the trajectory page', { timeout: 300_000 }, () => {
  it('are asked for in the banner of a hold, and with W, also with another world', () =>
    open('held-predict-done', async (page) => {
      await page.getByRole('region', { name: 'Predicted by library-sim' }).waitFor();
      await page.getByRole('button', { name: 'Predict', exact: true }).click();
      await requested(page, 'predict');
      await page.getByRole('tree', { name: 'Steps' }).focus();
      await page.keyboard.press('w');
      await requested(page, 'predict');
      await page.keyboard.press('Shift+W');
      await requested(page, 'choose');
      assert.equal(await page.getByRole('region', { name: 'Differences' }).count(), 0, 'there is no result yet');
    }));

  it('are stopped', () =>
    open('held-predict-asking', async (page) => {
      const asking = page.getByRole('region', { name: 'Prediction', exact: true });
      await asking.getByText(/Asking the world… \d/).waitFor();
      await asking.getByRole('button', { name: 'Cancel' }).click();
      await requested(page, 'stop');
    }));

  it('mark both sides where they were wrong, and lead to their prompt and thinking', () =>
    open('predicted-otherwise', async (page) => {
      const steps = page.getByRole('tree', { name: 'Steps' });
      const wrong = steps.getByRole('treeitem').filter({ hasText: '≠ predicted' });
      assert.equal(await wrong.count(), 1);
      const marked = (name: string, label: RegExp): Promise<string> =>
        page
          .getByRole('region', { name, exact: true })
          .getByRole('treeitem')
          .filter({ has: page.getByRole('img', { name: label }) })
          .innerText();
      assert.match(await marked('Result', /^deterministic: predicted Northbound/), /title/);
      assert.match(await marked('Predicted by library-sim', /^deterministic: really The Salt Road/), /title/);
      assert.match(await marked('Predicted by library-sim', /^key: only the prediction/), /note/);
      await page.getByRole('button', { name: 'Prompt and thinking' }).click();
      await steps.locator('[aria-selected="true"]').filter({ hasText: 'Shadow' }).waitFor();
    }));
});
