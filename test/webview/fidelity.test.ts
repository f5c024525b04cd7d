// The fidelity page: the worst calls first, its filters, its keys, and its links into trajectories.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('fidelity');

function rows(page: Page): Locator {
  return page.getByRole('listbox', { name: 'Predicted calls, worst first' }).getByRole('option');
}

async function actions(page: Page): Promise<unknown[]> {
  return await page.evaluate<unknown[]>('globalThis.storyActions');
}

/** Waits until the foot counts this many calls. */
async function shows(page: Page, of: string): Promise<void> {
  await page.locator('.fidelity-foot').getByText(of).waitFor();
}

describe('the fidelity page', { timeout: 300_000 }, () => {
  it('lists the worst calls first, and filters by tool and by what is wrong', () =>
    open('faulty', async (page) => {
      await shows(page, '80 of 80 calls');
      await rows(page).first().getByText('no prediction').waitFor();
      await page.getByRole('button', { name: /12 status/ }).click();
      await shows(page, '12 of 80 calls');
      await page.getByRole('button', { name: /^renew_loan/ }).click();
      await shows(page, '4 of 80 calls');
      assert.equal(await rows(page).filter({ hasText: 'renew_loan' }).count(), 4);
      await page.keyboard.press('0');
      await shows(page, '80 of 80 calls');
      await page.keyboard.press('3');
      await shows(page, '20 of 80 calls');
      await page.keyboard.press('t');
      await page.locator('.fidelity-group[aria-pressed="true"]').waitFor();
    }));

  it('shows the prediction next to what was recorded, with each difference, the marks, and the reasons', () =>
    open('judged', async (page) => {
      await page.keyboard.press('4'); // deterministic values
      const detail = page.locator('.fidelity-detail');
      await detail.getByText('M-999').first().waitFor();
      await detail.getByText('deterministic', { exact: true }).first().waitFor();
      await detail.getByText('Factuality').waitFor();
      await detail.getByText('had not expired before').waitFor();
      await detail.getByText('recorded', { exact: true }).waitFor();
      await detail.getByText('predicted', { exact: true }).waitFor();
    }));

  it('leads to the call in the replay, and to the call in the recording', () =>
    open('linked', async (page) => {
      await shows(page, '10 of 10 calls');
      await page.keyboard.press('Enter');
      await page.keyboard.press('r');
      await page.waitForFunction('globalThis.storyActions.length === 2');
      const [replay, recorded] = (await actions(page)) as { place: { rollout: string; seq?: number } }[];
      assert.match(`${replay?.place.rollout}@${replay?.place.seq}`, /^rb1x0@\d+$/);
      assert.match(`${recorded?.place.rollout}@${recorded?.place.seq}`, /^rdesk0@\d+$/);
    }));

  it('has a row for each domain if there are several, which filters the calls', () =>
    open('domains', async (page) => {
      await shows(page, '90 of 90 calls');
      const table = page.getByRole('region', { name: 'By domain' });
      const rowsOfTable = table.getByRole('button');
      assert.deepEqual((await rowsOfTable.locator('.fidelity-name').allInnerTexts()).sort(), [
        ...['fundraising', 'library', 'ride_hailing'],
      ]);
      await table.getByRole('button', { name: /^fundraising/ }).click();
      await shows(page, '30 of 90 calls');
      const tasks = await page.locator('.fidelity-task').allInnerTexts();
      assert.deepEqual([...new Set(tasks.map((task) => Number(/\d+/.exec(task)?.[0]) % 3))], [2]);
      await page.getByTitle('Show the others, too').click();
      await shows(page, '90 of 90 calls');
      await open('faulty', async (other) => {
        await shows(other, '80 of 80 calls');
        assert.equal(await other.getByRole('region', { name: 'By domain' }).count(), 0);
      });
    }));

  it('fills while the batch runs, and says when it has ended', () =>
    open('live', async (page) => {
      await shows(page, '10 of 10 calls');
      await page.evaluate("window.dispatchEvent(new Event('story-more'))");
      await shows(page, '20 of 20 calls');
      const status = page.locator('.fidelity-head').getByRole('status');
      await status.getByText('2 of 2 rollouts done').waitFor();
      await page.evaluate("window.dispatchEvent(new Event('story-end'))");
      await status.waitFor({ state: 'detached' });
    }));
});
