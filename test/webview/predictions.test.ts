// Predictions on the trajectory page: asking for one, stopping it, and finding where a recorded one was wrong.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('trajectory');

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

  it('of an agent that looks ahead are marked, as is a world that forgets, whose calls lead to each other', () =>
    open('lookahead-forgotten', async (page) => {
      const steps = page.getByRole('tree', { name: 'Steps' });
      assert.equal(await steps.getByRole('treeitem').getByText('predicted', { exact: true }).count(), 2);
      const forgotten = steps.getByRole('treeitem').filter({ hasText: 'inconsistent' });
      assert.equal(await forgotten.count(), 1);
      const inside = await forgotten.evaluate((row) => {
        const right = row.getBoundingClientRect().right;
        return [...row.querySelectorAll('.step-mark, .step-ms')].every(
          (part) => part.getBoundingClientRect().right <= right,
        );
      });
      assert.ok(inside, 'the row has room for its marks and its time');
      await page.getByText('due of loan L-3001 is 2026-05-08, not 2026-05-22').waitFor();
      await page.getByTitle('Show that call').filter({ hasText: 'previous call' }).click();
      await steps.locator('[aria-selected="true"]').filter({ hasText: 'renew_loan' }).waitFor();
    }));

  it('are marked among the messages of a model call, like what a world wrote', () =>
    open('lookahead-messages', async (page) => {
      const messages = page.getByRole('article', { name: /^Message \d+, tool$/ });
      const from = (text: string): Promise<number> => messages.getByText(text, { exact: true }).count();
      await messages.first().waitFor();
      assert.deepEqual([await from('simulated'), await from('predicted')], [4, 2]);
    }));
});
