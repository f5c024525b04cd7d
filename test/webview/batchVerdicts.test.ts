// Later verdicts on the batch page: whose verdicts the cells show, marks where they disagree, and the filter for them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('batch');

/** Waits until the cell of the fifth attempt of the first task, which the judge contradicts, has this name. */
async function cell(page: Page, name: string): Promise<void> {
  await page.waitForFunction(
    (expected) => document.querySelector('#cell-0-5')?.getAttribute('aria-label')?.endsWith(`: ${expected}`) === true,
    name,
  );
}

async function judgeBy(page: Page, scorer: string): Promise<void> {
  await page.locator('vscode-dropdown[aria-label="Verdict"]').evaluate((element, value) => {
    (element as HTMLInputElement).value = value;
    element.dispatchEvent(new Event('change'));
  }, scorer);
}

describe('verdicts on the batch page', { timeout: 120_000 }, () => {
  it('shows the verdicts of the chosen scorer in cells, rows, and counts, and the rewards again', () =>
    open('verdicts', async (page) => {
      await cell(page, 'passed, verdicts disagree');
      const passed = page.locator('.batch-chip', { hasText: 'passed' });
      const before = await passed.innerText();
      await judgeBy(page, 'careful judge');
      await cell(page, 'failed, verdicts disagree');
      await page.waitForFunction(
        (text) => ![...document.querySelectorAll<HTMLElement>('.batch-chip')].some((chip) => chip.innerText === text),
        before,
      );
      await judgeBy(page, 'person:ada');
      await cell(page, 'unscored, verdicts disagree');
      await judgeBy(page, 'reward');
      await cell(page, 'passed, verdicts disagree');
      await page.waitForFunction(
        (text) => [...document.querySelectorAll<HTMLElement>('.batch-chip')].some((chip) => chip.innerText === text),
        before,
      );
    }));

  it('filters by attempts whose verdicts disagree, and no longer', () =>
    open('verdicts', async (page) => {
      const chip = page.locator('.batch-chip.is-filter');
      const number = /\d+/.exec(await chip.innerText())?.[0] ?? '';
      assert.ok(Number(number) > 0);
      await chip.click();
      await page
        .locator('.batch-filter-hint')
        .filter({ hasText: `${number} of 320` })
        .waitFor();
      assert.equal(await chip.getAttribute('aria-pressed'), 'true');
      await chip.click();
      await page.locator('.batch-filter-hint').waitFor({ state: 'detached' });
    }));

  it('lists the verdicts on the attempt at the cursor', () =>
    open('verdicts-of-attempt', async (page) => {
      const verdicts = page.locator('.attempt-pane .attempt-verdicts');
      await verdicts.getByText('Verdicts disagree').waitFor();
      await verdicts.getByText('careful judge').click();
      await page.waitForFunction(() => document.body.dataset['opened'] === 'r2s5');
    }));
});
