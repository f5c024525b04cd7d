// The compare page: its outcome flow, its keys, and narrow windows.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('compare');

function flow(page: Page): Locator {
  return page.getByRole('region', { name: 'Outcome flow' });
}

function box(page: Page, name: RegExp): Locator {
  return flow(page).getByRole('button', { name });
}

/** Waits until a row that contains `text` is selected. */
async function selected(page: Page, text: string): Promise<void> {
  await page
    .getByRole('listbox', { name: 'Steps of both attempts' })
    .locator('[aria-selected="true"]')
    .filter({ hasText: text })
    .waitFor();
}

/** Waits until these attempts are side by side, and the first or the second one has the focus. */
async function sides(page: Page, left: number, right: number, focused?: 'left' | 'right'): Promise<void> {
  const head = (side: string): Locator => page.locator(`.two-head.is-${side}${focused === side ? '.is-focused' : ''}`);
  await head('left')
    .filter({ hasText: `attempt ${left}` })
    .waitFor();
  await head('right')
    .filter({ hasText: `attempt ${right}` })
    .waitFor();
}

async function isCut(text: Locator): Promise<boolean> {
  return text.evaluate((element) => element.scrollWidth > element.clientWidth);
}

describe('the outcome flow', { timeout: 300_000 }, () => {
  it('names the split that matters most, and shows each step after the equal ones, and the outcomes', () =>
    open('many', async (page) => {
      const said = 'Step 3, renew_loan: difference 1.00. days: 14 — 16/16 passed; days: 7 — 0/11.';
      await page.getByText(said).waitFor();
      await selected(page, 'renew_loan');
      assert.deepEqual(await page.locator('.flow-head').allTextContents(), [
        'steps 1–2',
        'step 3, divergence',
        'step 4',
        'end',
      ]);
      assert.deepEqual(
        await box(page, /renew_loan/)
          .locator('.flow-name + span')
          .allTextContents(),
        ['days: 7', 'days: 14', 'days: 21', 'loan_id: "L-3001", days: 14'],
      );
      assert.deepEqual(await page.locator('.flow-outcomes').allTextContents(), [
        'failed 11incl. attempt 2',
        'passed 10',
        'passed 6incl. attempt 1',
        'failed 5',
      ]);
      assert.match(
        (await box(page, /days: 21/).getAttribute('title')) ?? '',
        /^renew_loan loan_id: "L-3001", days: 21$/,
      );
    }));

  it('folds paths beyond five in a column', () =>
    open('long', (page) => flow(page).getByText('27 paths folded').waitFor()));

  it('moves both columns to the step of a clicked box, and compares its nearest attempt on a double click', () =>
    open('six', async (page) => {
      await selected(page, 'renew_loan');
      await sides(page, 2, 1);
      await box(page, /F-120.* 0\/2/).click();
      await selected(page, 'pay_fine');
      await box(page, /list_fines/).click(); // Neither attempt is in it: the step beside it.
      await selected(page, 'renew_loan');
      await box(page, /^answer 0\/2/).click();
      await selected(page, 'L-3001 is renewed');
      await box(page, /2 equal steps/).click();
      await selected(page, '2 equal steps');
      await box(page, /list_fines/).dblclick();
      await sides(page, 2, 3);
      await selected(page, 'list_fines');
    }));

  it('is walked with the arrow keys', () =>
    open('six', async (page) => {
      const focus = (name: RegExp): Promise<void> =>
        flow(page).locator('.flow-box:focus').filter({ hasText: name }).waitFor();
      await selected(page, 'renew_loan');
      await box(page, /2 equal steps/).focus();
      await page.keyboard.press('ArrowRight');
      await focus(/days: 7/);
      await page.keyboard.press('ArrowRight');
      await focus(/F-120/);
      await page.keyboard.press('Enter');
      await selected(page, 'pay_fine');
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('ArrowDown');
      await focus(/list_fines/);
      await page.keyboard.press('Shift+Enter');
      await sides(page, 2, 3);
      await page.keyboard.press('ArrowUp');
      await focus(/days: 7/);
    }));
});

describe('the keys of two columns', { timeout: 300_000 }, () => {
  it('change the side, the attempt of the side, the difference, and the view', () =>
    open('six', async (page) => {
      await selected(page, 'renew_loan');
      await sides(page, 2, 1, 'left');
      await page.keyboard.press('l');
      await sides(page, 2, 1, 'right');
      await page.keyboard.press(']');
      await sides(page, 2, 3, 'right');
      await page.keyboard.press('[');
      await page.keyboard.press('[');
      await sides(page, 2, 6, 'right'); // from the first to the last
      await page.keyboard.press('h');
      await page.keyboard.press(']');
      await sides(page, 3, 6, 'left');
      await page.keyboard.press('[');
      await sides(page, 2, 6, 'left');
      await selected(page, 'list_fines');
      await page.keyboard.press('d');
      await selected(page, 'renew_loan');
      await page.keyboard.press('Shift+D');
      await selected(page, 'list_fines');
      await page.keyboard.press('Shift+D');
      await page.getByText('No more differences').first().waitFor();
      await page.keyboard.press('v');
      await page.getByRole('listbox', { name: 'Steps side by side' }).waitFor();
      await page.keyboard.press('v');
      await sides(page, 2, 1);
    }));

  it('reach the wrong final answer as a difference with all attempts as columns too, which never rejoins', () =>
    open('six', async (page) => {
      await selected(page, 'renew_loan');
      await page.keyboard.press('v');
      const rows = page.getByRole('listbox', { name: 'Steps side by side' });
      await rows.locator('[aria-selected="true"]').filter({ hasText: 'list_fines' }).waitFor();
      await page.keyboard.press('d');
      await page.keyboard.press('d');
      await page.keyboard.press('d');
      const last = rows.locator('[aria-selected="true"]').filter({ hasText: 'answers' });
      await last.waitFor();
      assert.doesNotMatch((await last.textContent()) ?? '', /rejoins/);
    }));
});

describe('the compare page in narrow windows', { timeout: 300_000 }, () => {
  it('keeps both columns at 700 px, and shows the differing argument in low boxes', () =>
    open('many', async (page) => {
      await page.setViewportSize({ width: 700, height: 800 });
      await selected(page, 'renew_loan');
      const cells = page.locator('.two-row.is-selected .two-cell');
      const [left, right] = [await cells.first().boundingBox(), await cells.last().boundingBox()];
      assert.ok(left !== null && right !== null && left.y === right.y && left.x < right.x, 'side by side');
      assert.equal(await page.getByText('nearest passed').isVisible(), false);
      const different = box(page, /days: 21/).getByText('days: 21');
      await different.waitFor();
      assert.equal(await isCut(different), false);
      const list = box(page, /F-118, F-120.* 0\/5/).getByText('F-118, F-120');
      assert.equal(await isCut(list), false);
    }));

  it('shows one column below 560 px, and the flow as an outline', () =>
    open('many', async (page) => {
      await page.setViewportSize({ width: 500, height: 800 });
      await selected(page, 'renew_loan');
      const cells = page.locator('.two-row.is-selected .two-cell');
      const [left, right] = [await cells.first().boundingBox(), await cells.last().boundingBox()];
      assert.ok(left !== null && right !== null && left.y < right.y && left.x === right.x, 'one above the other');
      const branches = flow(page).getByRole('treeitem');
      const other = branches.filter({ hasText: 'renew_loan days: 21, loan_id' });
      await page.keyboard.press('End');
      await selected(page, 'L-3001 is renewed');
      await other.click();
      await selected(page, 'renew_loan');
      await other.dblclick();
      await sides(page, 2, 5);
    }));
});
