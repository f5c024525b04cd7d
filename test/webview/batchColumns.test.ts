// The columns of the batch page: resized by drag and keyboard, chosen, remembered; the cause at the cursor.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('batch');

function head(page: Page, name: string): Locator {
  return page.getByRole('columnheader', { name });
}

function sash(page: Page, name: string): Locator {
  return page.getByRole('separator', { name: `Resize ${name}` });
}

async function widthOf(page: Page, name: string): Promise<number> {
  return (await head(page, name).boundingBox())?.width ?? 0;
}

/** Waits until a column has this width. */
async function width(page: Page, name: string, expected: number): Promise<void> {
  await page.waitForFunction(
    ([label, pixels]) =>
      [...document.querySelectorAll<HTMLElement>('.batch-grid-column')].some(
        (column) => column.textContent === label && column.offsetWidth === pixels,
      ),
    [name, expected] as const,
  );
}

function heads(page: Page): Promise<string[]> {
  return page.locator('.batch-grid-column').allTextContents();
}

function remembered(page: Page, key: string): Promise<unknown> {
  return page.evaluate((name) => JSON.parse(localStorage.getItem(name) ?? 'null') as unknown, key);
}

/** Shows the grid without the detail pane, so that all columns have room. */
async function closePane(page: Page): Promise<void> {
  await page.keyboard.press('i');
  await page.locator('.attempt-pane').waitFor({ state: 'detached' });
  await head(page, 'expected answer').waitFor();
}

describe('the columns of the batch page', { timeout: 300_000 }, () => {
  it('are resized by dragging the edge of a head, and fit with a double-click', () =>
    open('ended', async (page) => {
      await closePane(page);
      await page.evaluate(() => void (document.body.dataset['workspace'] = 'w1'));
      const [question, cause] = await Promise.all(['question', 'cause'].map((name) => widthOf(page, name)));
      const box = await sash(page, 'question').boundingBox();
      assert.ok(box !== null && question !== undefined && cause !== undefined);
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.move(x + 30, y, { steps: 3 });
      await page.mouse.up();
      await width(page, 'question', question + 30);
      await width(page, 'cause, most often', cause - 30);
      assert.deepEqual(await remembered(page, 'rollout.batch.columns.w1'), {
        hidden: [],
        widths: { question: question + 30, cause: cause - 30 },
      });
      assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('role')), 'grid');
      await page.setViewportSize({ width: 1600, height: 800 });
      await page.waitForFunction(() => document.querySelector('canvas')?.offsetWidth === 1600);
      await sash(page, 'cause').dblclick();
      await page.waitForFunction(() => {
        const cells = [...document.querySelectorAll('.batch-grid-model [role="row"] > [aria-colindex="14"]')];
        return cells.length > 0 && cells.every((cell) => (cell.getAttribute('title') ?? '') === '');
      });
    }));

  it('are resized with the keyboard, not below the minimum', () =>
    open('ended', async (page) => {
      await closePane(page);
      const before = await widthOf(page, 'cause');
      await sash(page, 'cause').focus();
      await page.keyboard.press('ArrowLeft');
      await width(page, 'cause, most often', before - 16);
      await page.keyboard.press('ArrowRight');
      await width(page, 'cause, most often', before);
      for (let i = 0; i < 8; i++) await page.keyboard.press('ArrowLeft');
      await width(page, 'cause, most often', 150);
      assert.equal(await sash(page, 'cause').getAttribute('aria-valuenow'), '150');
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => document.activeElement?.getAttribute('aria-valuenow') !== '150');
    }));

  it('are chosen in a menu with the keyboard, and all come back', () =>
    open('ended', async (page) => {
      await closePane(page);
      assert.deepEqual(await heads(page), ['steps', 'p50', 'question', 'cause, most often', 'expected answer']);
      await page.getByRole('button', { name: 'Columns' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('menuitemcheckbox', { name: 'Steps', checked: true }).waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('menuitemcheckbox', { name: 'Steps', checked: false }).waitFor();
      await page.keyboard.press('e');
      await page.keyboard.press('Enter');
      await head(page, 'expected answer').waitFor({ state: 'detached' });
      assert.deepEqual(await heads(page), ['p50', 'question', 'cause, most often']);
      assert.deepEqual(await remembered(page, 'rollout.batch.columns'), { hidden: ['steps', 'answer'], widths: {} });
      await page.keyboard.press('r');
      await page.keyboard.press('Enter');
      await head(page, 'expected answer').waitFor();
      assert.equal((await heads(page)).length, 5);
    }));

  it('are as they were remembered', () =>
    open('columns', async (page) => {
      assert.deepEqual(await heads(page), ['question', 'cause, most often', 'expected answer']);
      await width(page, 'question', 160);
    }));

  it('show the cause of the attempt at the cursor, and titles of texts that are cut off', () =>
    open('ended', async (page) => {
      const row = page.locator('.batch-grid-model [role="row"]').filter({ hasText: 'renew-and-explain-limit' }).first();
      await row.getByText('step limit 1').waitFor();
      for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowDown');
      for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight');
      await page.locator('[aria-activedescendant="cell-4-6"]').waitFor();
      await row.getByText('step limit 1').waitFor({ state: 'detached' });
      await row.getByText(/^(?!renew|Member|step limit)\w.*[a-z]$/).waitFor();
      await page.keyboard.press('ArrowUp');
      await row.getByText('step limit 1').waitFor();
      assert.match(
        (await row.locator('[title^="Member 1004"]').getAttribute('title')) ?? '',
        /^Member 1004 asks to renew and explain limit\. Do what .* say what you did\.$/,
      );
    }));
});
