// The batch page in use, by keys at the speed of a person, and by the mouse.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('batch');

function grid(page: Page): Locator {
  return page.getByRole('grid', { name: 'Attempts' });
}

/** Waits until the grid has the focus, with its cursor on this attempt. */
async function cursorAt(page: Page, id: RegExp): Promise<void> {
  await page.waitForFunction((pattern) => {
    const { activeElement: active } = document;
    return (
      active?.getAttribute('role') === 'grid' &&
      new RegExp(pattern).test(active.getAttribute('aria-activedescendant') ?? '')
    );
  }, id.source);
}

/** Waits until the page wants to open the trajectory of this attempt. */
async function opened(page: Page, rollout: string): Promise<void> {
  await page.locator(`[data-opened="${rollout}"]`).waitFor();
}

describe('the batch page', { timeout: 300_000 }, () => {
  it('keeps every letter of a filter that is typed at the speed of a person', () =>
    open('ended', async (page) => {
      for (const delay of [130, 150, 170]) {
        await page.keyboard.press('/');
        const field = page.getByRole('search').locator('vscode-text-field');
        await page.keyboard.type('question:renew', { delay });
        assert.equal(await field.evaluate((element) => (element as HTMLInputElement).value), 'question:renew');
        await page.keyboard.press('Enter');
        await cursorAt(page, /^cell-/);
        await page.keyboard.press('/');
        await page.keyboard.press('Escape');
        await page.locator('.batch-filter-hint').waitFor({ state: 'detached' });
        await page.keyboard.press('Escape');
        await cursorAt(page, /^cell-/);
      }
    }));

  it('opens with the focus on the grid: arrows and Enter work at once', () =>
    open('ended', async (page) => {
      await cursorAt(page, /^cell-0-1$/);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowRight');
      await cursorAt(page, /^cell-1-2$/);
      await page.keyboard.press('Enter');
      await opened(page, 'r1x2');
    }));

  it('returns the focus to the grid after a dialog, and after N on a button', () =>
    open('ended', async (page) => {
      await cursorAt(page, /^cell-0-1$/);
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await cursorAt(page, /^cell-0-1$/);
      await page.getByRole('button', { name: /^passed/ }).focus();
      await page.keyboard.press('n');
      await cursorAt(page, /^cell-(?!0-1$)/);
      const id = (await grid(page).getAttribute('aria-activedescendant')) ?? '';
      await page.keyboard.press('Enter');
      await opened(page, id.replace(/^cell-(\d+)-(\d+)$/, 'r$1x$2'));
    }));

  it('shows only the outcome whose chip is clicked, and adds or hides others with a modifier', () =>
    open('ended', async (page) => {
      const chip = (name: string): Locator =>
        page.getByRole('group', { name: 'Outcomes' }).getByRole('button', { name });
      const pressed = (): Promise<(string | null)[]> =>
        page
          .getByRole('group', { name: 'Outcomes' })
          .getByRole('button', { pressed: true })
          .evaluateAll((all) => all.map((one) => one.textContent.replace(/[^a-z]/g, '')));
      const all = await pressed();
      await chip('failed').click();
      assert.deepEqual(await pressed(), ['failed']);
      await chip('truncated').click({ modifiers: ['ControlOrMeta'] });
      assert.deepEqual(await pressed(), ['failed', 'truncated']);
      await chip('failed').click({ modifiers: ['Shift'] });
      assert.deepEqual(await pressed(), ['truncated']);
      await chip('truncated').click();
      assert.deepEqual(await pressed(), all);
    }));

  it('filters by a cause, by several, and no longer; a double-click opens the first attempt', () =>
    open('ended', async (page) => {
      const causes = page.getByRole('region', { name: 'Causes' });
      const field = page.getByRole('search').locator('vscode-text-field');
      const filter = (): Promise<string> => field.evaluate((element) => (element as HTMLInputElement).value);
      const answer = causes.getByRole('button', { name: /^failed answer wrong|^answer wrong/ });
      await answer.click();
      await causes.getByRole('button', { pressed: true }).waitFor();
      assert.equal(await filter(), 'cause:"answer wrong"');
      await causes.getByRole('button', { name: /step limit/ }).click({ modifiers: ['ControlOrMeta'] });
      await page.getByText('59 of 320').waitFor();
      assert.equal(await filter(), 'cause:"answer wrong","step limit"');
      await answer.click();
      await page.getByText('37 of 320').waitFor();
      await answer.press('Enter');
      await page.locator('.batch-filter-hint').waitFor({ state: 'detached' });
      await answer.dblclick();
      await page.locator('[data-opened]').waitFor();
      await causes.getByRole('button', { name: '1 more cause' }).click();
      await causes.getByRole('button', { name: /infrastructure/ }).waitFor();
    }));
});
