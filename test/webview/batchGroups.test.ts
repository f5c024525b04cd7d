// Groups of the batch page: opened, walked, and opened attempts with the keyboard; the estimator, excluded members.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('batch');

function list(page: Page): Locator {
  return page.getByRole('listbox', { name: 'Groups of' });
}

function selected(page: Page): Locator {
  return list(page).locator('[aria-selected="true"]');
}

/** Waits until the group at the cursor says this. */
async function says(page: Page, pattern: RegExp): Promise<void> {
  await selected(page).filter({ hasText: pattern }).waitFor();
}

describe('groups of the batch page', { timeout: 300_000 }, () => {
  it('are shown with V, walked with the arrow keys, and Enter opens the attempt', () =>
    open('ended', async (page) => {
      await page.keyboard.press('v');
      await list(page).waitFor();
      await list(page).focus();
      await page.keyboard.press('Home');
      await says(page, /attempt 1: reward \d, advantage/);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowRight');
      await says(page, /attempt 2: /);
      await page.keyboard.press('Enter');
      assert.match(await page.evaluate(() => document.body.dataset['opened'] ?? ''), /^r1x2$/);
      await page.keyboard.press('v');
      await page.getByRole('grid', { name: 'Attempts' }).waitFor();
    }));

  it('N goes to the next group without signal', () =>
    open('groups', async (page) => {
      await list(page).focus();
      await page.keyboard.press('n');
      await says(page, /No signal: all/);
      const first = await selected(page).getAttribute('aria-posinset');
      await page.keyboard.press('n');
      await page.waitForFunction(
        (before) =>
          document.querySelector('.batch-groups [aria-selected="true"]')?.getAttribute('aria-posinset') !== before,
        first,
      );
      await says(page, /No signal: all/);
    }));

  it('have tiles of what settings saved and cost', () =>
    open('groups', async (page) => {
      const tile = (name: string): Locator => page.getByRole('region', { name, exact: true });
      assert.match(
        await tile('Curriculum').innerText(),
        /^Curriculum\s+33\s+of 53 tasks\s+7 tasks outside now, moved 4 times/,
      );
      assert.match(
        await tile('Task budget').innerText(),
        /^Task budget\s+\d+\s+of 40 tasks\s+[\d.]+[kM]? tokens unspent$/,
      );
    }));

  it('advantages follow the estimator, which is remembered', () =>
    open('groups-pair', async (page) => {
      // One of two passed: a mean of 0.5 and a spread of 0.71.
      const row = list(page).locator('.list-row', { hasText: 'spread 0.71' }).first();
      await row.click();
      const pane = page.getByRole('complementary', { name: 'Group' });
      await pane.locator('.list-row', { hasText: '+0.71' }).waitFor();
      await page.getByRole('combobox', { name: 'Advantage' }).click();
      await page.getByRole('option', { name: 'RLOO' }).click();
      await pane.locator('.list-row', { hasText: '+1.00' }).waitFor();
      assert.equal(await page.evaluate(() => localStorage.getItem('rollout.batch.estimator')), '"rloo"');
    }));

  it('say why a member is excluded', () =>
    open('groups', async (page) => {
      await list(page).locator('.list-row', { hasText: 'a person changed it' }).first().click();
      const pane = page.getByRole('complementary', { name: 'Group' });
      const member = pane.locator('.member-row.is-excluded', { hasText: 'excluded' }).first();
      await member.waitFor();
      assert.equal(await member.locator('s').innerText(), 'excluded');
      await pane.getByText('Attempt 3: a person changed it.').waitFor();
    }));
});
