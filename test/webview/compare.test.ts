// The compare page in use: keys, clicks, and navigation to it and from it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('compare');

/** Waits until this attempt's column is selected. */
async function chosenColumn(page: Page, attempt: number): Promise<void> {
  await page
    .locator('.compare-head.is-chosen')
    .filter({ hasText: `attempt ${attempt}` })
    .waitFor();
}

function rows(page: Page): Locator {
  return page.getByRole('listbox', { name: 'Steps side by side' });
}

/** The selected row, once it holds `text`. */
async function chosenRow(page: Page, text: string): Promise<void> {
  await rows(page).locator('[aria-selected="true"]').filter({ hasText: text }).waitFor();
}

/** The step that is selected on the page of a trajectory, once it holds `text`. */
async function selectedStep(page: Page, text: string): Promise<void> {
  await page.getByRole('tree', { name: 'Steps' }).locator('[aria-selected="true"]').filter({ hasText: text }).waitFor();
}

/** Waits until an element can be seen in the window and in its list. */
async function inView(element: Locator): Promise<void> {
  await element.waitFor();
  await element.evaluate(
    (node) =>
      new Promise<void>((resolve) => {
        new IntersectionObserver(([entry], observer) => {
          if (entry?.isIntersecting !== true) return;
          observer.disconnect();
          resolve();
        }).observe(node);
      }),
  );
}

/** Moves the cursor of the grid from the first attempt to another one. */
async function chosenAttempt(page: Page, attempt: number): Promise<void> {
  const pane = page.getByRole('complementary', { name: 'Attempt' });
  await pane.getByText('Compare attempts').waitFor();
  for (let at = 1; at < attempt; at++) await page.keyboard.press('ArrowRight');
  await pane.getByText(`attempt ${attempt}`).first().waitFor();
}

/** Waits until these attempts are side by side. */
async function sides(page: Page, left: number, right: number): Promise<void> {
  const heads = page.locator('.two-head');
  await heads
    .first()
    .filter({ hasText: `attempt ${left}` })
    .waitFor();
  await heads
    .last()
    .filter({ hasText: `attempt ${right}` })
    .waitFor();
}

/** Switches from two attempts to all of them. */
async function showAll(page: Page): Promise<void> {
  await page.getByRole('listbox', { name: 'Steps of both attempts' }).waitFor();
  await page.keyboard.press('v');
  await rows(page).waitFor();
}

/** Waits until a row that contains `text` is selected in the view of two attempts. */
async function selectedPair(page: Page, text: string): Promise<void> {
  await page
    .getByRole('listbox', { name: 'Steps of both attempts' })
    .locator('[aria-selected="true"]')
    .filter({ hasText: text })
    .waitFor();
}

describe('the compare page', { timeout: 300_000 }, () => {
  it('shows a failed attempt next to the nearest passed one, with what differs and why', () =>
    open('six', async (page) => {
      await selectedPair(page, 'renew_loan');
      const heads = page.locator('.two-head');
      await heads.first().filter({ hasText: 'attempt 2' }).waitFor();
      await heads.last().filter({ hasText: 'attempt 1' }).filter({ hasText: 'nearest passed' }).waitFor();
      const row = page.getByRole('option').filter({ hasText: 'renew_loan' });
      assert.deepEqual(await row.locator('dt').allTextContents(), [
        ...['arguments', 'result', 'world'],
        ...['arguments', 'result', 'world'],
      ]);
      assert.deepEqual((await row.locator('mark').allTextContents()).slice(0, 2), ['7', 'false']);
      await page.getByRole('region', { name: 'Reason of attempt 2' }).getByText('loans: row not renewed').waitFor();
      await page.getByRole('region', { name: 'Reason of attempt 1' }).getByText('All 3 checks passed').waitFor();
      await page.keyboard.press('d');
      await selectedPair(page, 'pay_fine');
      await page.keyboard.press('d');
      await selectedPair(page, 'L-3001 is renewed'); // A wrong final answer is a difference.
      await page.keyboard.press('d');
      await page.getByText('No more differences').first().waitFor();
      await page.keyboard.press('Shift+D');
      await selectedPair(page, 'pay_fine');
      await page.keyboard.press('Home');
      await selectedPair(page, '2 equal steps');
      await page.keyboard.press('x');
      await selectedPair(page, 'find_member');
      await page.keyboard.press('x');
      await selectedPair(page, '2 equal steps');
      await page.keyboard.press('Shift+X');
      await selectedPair(page, 'find_member');
    }));

  it('shows both attempts before the others are read, and leaves them in place', () =>
    open('early', async (page) => {
      await selectedPair(page, 'renew_loan');
      await sides(page, 2, 1);
      await page.getByText('Loading attempt 8 of 32').waitFor();
      await page.getByText('32 attempts: 16 passed, 16 failed').waitFor();
      const top = await page.locator('.two-view').boundingBox();
      await page.keyboard.press('d');
      await selectedPair(page, 'pay_fine');
      await page.keyboard.press(']');
      await page.getByText('The other attempts are still loading').first().waitFor();
      await sides(page, 2, 1);
      await page.evaluate("dispatchEvent(new Event('story-rest'))");
      await page.getByRole('region', { name: 'Outcome flow' }).waitFor();
      await page.getByText('Loading attempt').waitFor({ state: 'detached' });
      assert.deepEqual(await page.locator('.two-view').boundingBox(), top);
      await selectedPair(page, 'pay_fine');
      await page.keyboard.press(']');
      await sides(page, 3, 6);
    }));

  it('compares with another attempt, and opens the attempt of a side at the step', () =>
    open('from-batch', async (page) => {
      await page.getByRole('grid', { name: 'Attempts' }).focus();
      await chosenAttempt(page, 2);
      await page.keyboard.press('c');
      await selectedPair(page, 'renew_loan');
      await sides(page, 2, 1);
      const right = page.locator('.two-head').last();
      await page.keyboard.press('l');
      await page.keyboard.press(']');
      await right.filter({ hasText: 'attempt 3' }).waitFor();
      await selectedPair(page, 'list_fines');
      await page.keyboard.press('[');
      await right.filter({ hasText: 'attempt 1' }).waitFor();
      await right.getByRole('button', { name: 'Choose the right attempt' }).click();
      await page.getByRole('menuitemradio', { name: /^attempt 6/ }).click();
      await right.filter({ hasText: 'attempt 6' }).waitFor();
      await page.keyboard.press('d');
      await selectedPair(page, 'renew_loan');
      await page.keyboard.press('Enter');
      await selectedStep(page, 'renew_loan');
      await page.locator('.head-attempt').filter({ hasText: 'attempt 6' }).waitFor();
    }));

  it('begins where the attempts diverge, and moves by keys through rows, attempts, and differences', () =>
    open('six', async (page) => {
      await showAll(page);
      await chosenRow(page, 'list_fines');
      await chosenColumn(page, 1);
      await page.keyboard.press('k');
      await chosenRow(page, 'list_loans');
      await page.keyboard.press('d');
      await chosenRow(page, 'list_fines');
      await page.keyboard.press('d');
      await chosenRow(page, 'renew_loan');
      await page.keyboard.press('Shift+D');
      await chosenRow(page, 'list_fines');
      await page.keyboard.press('End');
      await chosenRow(page, 'answers');
      await page.keyboard.press('l');
      await chosenColumn(page, 2);
      await page.keyboard.press('ArrowLeft');
      await chosenColumn(page, 1);
    }));

  it('reveals the last attempt, and shows only those of a branch', () =>
    open('many', async (page) => {
      await showAll(page);
      for (let column = 1; column < 32; column++) await page.keyboard.press('l');
      await chosenColumn(page, 32);
      const box = await page.locator('.compare-head.is-chosen').boundingBox();
      assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 1200, 'it is in sight');
      await page.keyboard.press(']');
      await page.locator('.compare-head').filter({ hasText: 'attempt 32' }).waitFor();
      assert.equal(await page.locator('.compare-head').count(), 12, 'the reference and the 11 of the first branch');
      await chosenColumn(page, 1);
      await page.keyboard.press('[');
      await page.locator('.compare-head').nth(31).waitFor();
    }));

  it('renders only what is near the visible part, in both views, and shows what is selected', () =>
    open('long', async (page) => {
      const list = page.getByRole('listbox', { name: 'Steps of both attempts' });
      const options = list.getByRole('option');
      await selectedPair(page, 'check_copy');
      await page.keyboard.press('Shift+X');
      await page.keyboard.press('End');
      await selectedPair(page, 'L-3001 is renewed');
      await page.getByRole('region', { name: 'Reason of attempt 2' }).waitFor();
      const total = Number(await options.last().getAttribute('aria-setsize'));
      assert.ok(total > 58, `${total} rows`);
      const rendered = await options.count();
      assert.ok(rendered < total * 0.8, `${rendered} of ${total} rows`);
      await page.keyboard.press('Home');
      await selectedPair(page, 'find_member');
      await inView(list.locator('[aria-selected="true"]'));
      await page.keyboard.press('v');
      await chosenColumn(page, 1);
      const cells = page.locator('.compare-row').first().locator('.compare-cell');
      assert.ok((await cells.count()) < 10, 'of 32 columns');
      for (let column = 1; column < 32; column++) await page.keyboard.press('l');
      await chosenColumn(page, 32);
      await inView(page.locator('.compare-cell.is-chosen'));
    }));

  it('selects the clicked cell, and lists its keys', () =>
    open('six', async (page) => {
      await showAll(page);
      await rows(page).getByRole('option').filter({ hasText: 'renew_loan' }).locator('.compare-cell').nth(2).click();
      await chosenRow(page, 'renew_loan');
      await chosenColumn(page, 3);
      await page.locator('.compare-head').nth(1).click();
      await chosenColumn(page, 2);
      await page.keyboard.press('y');
      await page.getByText('Copied').first().waitFor();
      await page.keyboard.press('?');
      const keys = page.getByRole('dialog', { name: 'Keyboard Shortcuts' });
      await keys.getByText('next, previous difference').waitFor();
      await page.keyboard.press('Escape');
      await keys.waitFor({ state: 'detached' });
    }));

  it('says that attempts are still running, and reloads them', () =>
    open('running', async (page) => {
      const notice = page.getByRole('status').filter({ hasText: '2 attempts have not ended' });
      await notice.waitFor();
      await showAll(page);
      await page.keyboard.press('l');
      await chosenColumn(page, 2);
      await notice.getByRole('button', { name: 'Reload' }).click();
      await chosenColumn(page, 1); // reload
    }));

  it('opens from the grid and from a trajectory, and leads to the step of an attempt', () =>
    open('from-batch', async (page) => {
      await page.getByRole('grid', { name: 'Attempts' }).focus();
      await chosenAttempt(page, 2);
      await page.keyboard.press('c');
      await showAll(page);
      await chosenRow(page, 'list_fines');
      await page.keyboard.press('j');
      await page.keyboard.press('l');
      await chosenColumn(page, 2);
      await page.keyboard.press('Enter');
      await selectedStep(page, 'renew_loan');
      await page.locator('.head-attempt').filter({ hasText: 'attempt 2' }).waitFor();
      await page.getByRole('button', { name: 'Compare', exact: true }).click();
      await showAll(page);
      await rows(page).getByRole('option').filter({ hasText: 'renew_loan' }).locator('.compare-cell').nth(4).dblclick();
      await selectedStep(page, 'renew_loan');
      await page.locator('.head-attempt').filter({ hasText: 'attempt 5' }).waitFor();
      await page.getByText(/Diverges at step 3 from attempt 1 /).waitFor();
      await page.keyboard.press('c');
      await selectedPair(page, 'renew_loan');
      await sides(page, 5, 1); // The attempt it was opened from, and the one that its verdict names.
      await page.keyboard.press(']');
      await sides(page, 6, 3);
      await page.keyboard.press('[');
      await page.keyboard.press('v');
      await rows(page).waitFor();
      await page.keyboard.press('v');
      await sides(page, 5, 1); // The other view keeps it.
      await page.keyboard.press('o');
      await page.getByRole('grid', { name: 'Attempts' }).waitFor();
    }));

  it('shows which tasks changed between two batches, and leads to their attempts in both', () =>
    open('from-batches', async (page) => {
      const tasks = page.getByRole('listbox', { name: 'Tasks' });
      const selected = tasks.locator('[aria-selected="true"]');
      await selected.filter({ hasText: 'no longer passes' }).waitFor();
      const differences = page.getByRole('table', { name: /^Paired differences/ }).getByRole('row');
      for (const rate of ['pass@1', 'tool success', 'parameter accuracy'])
        await differences.filter({ hasText: rate }).waitFor();
      await page.keyboard.press('End');
      await selected.filter({ hasText: 'as before' }).waitFor();
      await page.keyboard.press('2'); // only those that pass now
      await selected.filter({ hasText: 'passes now' }).waitFor();
      const filter = page.getByRole('group', { name: 'Only' }).getByRole('button', { name: /passes now/ });
      assert.equal(await filter.getAttribute('aria-pressed'), 'true');
      await page.keyboard.press('2');
      await selected.filter({ hasText: 'no longer passes' }).waitFor();
      const heading = page.getByRole('heading', { level: 1 });
      await page.keyboard.press('x'); // swap
      await heading.filter({ hasText: /^nightly with .* → nightly$/ }).waitFor();
      await selected.filter({ hasText: 'no longer passes' }).waitFor();
      await page.keyboard.press('x');
      await heading.filter({ hasText: /^nightly → nightly with/ }).waitFor();
      await selected.filter({ hasText: 'no longer passes' }).waitFor();
      await page.keyboard.press('Home');
      await page.keyboard.press('Enter');
      await showAll(page);
      await page.locator('.compare-head').filter({ hasText: 'before 1' }).waitFor();
      await page.locator('.compare-head').filter({ hasText: 'after 4' }).waitFor();
      await page.getByRole('button', { name: 'both batches' }).click();
      await tasks.waitFor();
    }));
});
