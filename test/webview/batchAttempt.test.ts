// What the batch page says about an attempt: the card next to the grid, and the detail pane.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('batch');

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

async function boxOf(element: Locator): Promise<Box> {
  const box = await element.boundingBox();
  assert.ok(box !== null);
  return box;
}

/** Moves the pointer to a cell, and returns its card once it shows the divergence. */
async function cardOf(page: Page, cell: string): Promise<Locator> {
  await page.mouse.move(0, 0);
  await page.locator(cell).hover();
  const card = page.getByRole('tooltip');
  await card.locator('.attempt-split').waitFor();
  return card;
}

/** Waits until the page has acted like this. */
async function acted(page: Page, action: unknown): Promise<void> {
  await page.waitForFunction((json) => document.body.dataset['action'] === json, JSON.stringify(action));
}

function checks(part: Locator): Promise<string[]> {
  return part
    .getByRole('table', { name: 'Checks' })
    .locator('tbody tr')
    .evaluateAll((rows) =>
      rows.map((row) =>
        [...row.querySelectorAll('th, td')]
          .slice(1)
          .map((cell) => cell.textContent)
          .join(' | '),
      ),
    );
}

const CHECKS = [
  'loans L-3001 due | 2026-05-22 | 2026-05-08',
  'loans L-3001 renewals | 1 | 0',
  'answer | L-3001 is renewed until May 22. | L-3001 is renewed until May 15.',
  'nothing else changed | none | none',
];

const KEYS = /open\s+C\s+compare\s+F\s+fork\s+Y\s+copy link/;

describe('an attempt on the batch page', { timeout: 300_000 }, () => {
  it('has a card with the question, the cause, its checks, the times, and the divergence', () =>
    open('card-reason', async (page) => {
      const card = await cardOf(page, '#cell-0-3');
      const text = await card.innerText();
      for (const part of [
        /attempt 3 of 8\s+reward\s+0\.0/,
        /Member 1000 asks to renew missing copy\./,
        /Cause\s+loans: row not renewed/,
        /5 steps\s+6\.4 s\s+7\.9k tokens\s+.*step 3/,
        /Diverges at step 3 from attempt \d \(passed\): days 7 14/,
        KEYS,
      ])
        assert.match(text, part);
      assert.deepEqual(await checks(card), CHECKS);
      assert.equal(await card.locator('.attempt-bar > .is-failed').count(), 1);
      assert.equal((await boxOf(card.locator('.attempt-bar'))).height, 8);
    }));

  it('has its card below the row and right of the cells, or above it', () =>
    open('card-reason', async (page) => {
      const card = await boxOf(await cardOf(page, '#cell-0-3'));
      const [first, last] = await Promise.all([boxOf(page.locator('#cell-0-3')), boxOf(page.locator('#cell-0-8'))]);
      assert.equal(card.width, 396);
      assert.ok(card.x >= last.x + last.width, 'hides a cell');
      assert.ok(card.y >= first.y + first.height, 'hides the row');
      assert.ok(card.y + card.height <= 800);
      await page.setViewportSize({ width: 1200, height: 720 });
      const low = await boxOf(await cardOf(page, '#cell-11-3'));
      const cell = await boxOf(page.locator('#cell-11-3'));
      assert.ok(low.y + low.height <= cell.y, 'hides the row');
      assert.ok(low.y >= 0);
    }));

  it('shows four checks in its card, and counts the others', () =>
    open('card-reason-checks', async (page) => {
      const card = await cardOf(page, '#cell-1-3');
      assert.equal((await checks(card)).length, 4);
      await card.getByText('5 more checks').waitFor();
    }));

  it('has neither a cause nor a divergence if it passed', () =>
    open('card-passed', async (page) => {
      await page.mouse.move(0, 0);
      await page.locator('#cell-0-4').hover();
      const card = page.getByRole('tooltip');
      await card.locator('.attempt-bar').waitFor();
      assert.doesNotMatch(await card.innerText(), /Cause|Diverges/);
    }));

  it('is opened, compared, forked, and linked with keys while the card is visible', () =>
    open('card-reason', async (page) => {
      await cardOf(page, '#cell-2-3');
      await page.keyboard.press('y');
      await acted(page, { do: 'link', place: { page: 'trajectory', rollout: 'r2x3' } });
      await page.keyboard.press('c');
      await acted(page, {
        do: 'open',
        place: { page: 'compare', batch: 'b1', task: 'renew-for-two-members', rollout: 'r2x3' },
      });
      await page.keyboard.press('f'); // where it diverges, as its card says
      await page.waitForFunction(() =>
        /^\{"do":"open","place":\{"page":"trajectory","rollout":"r2x3","seq":\d+,"fork":true\}\}$/.test(
          document.body.dataset['action'] ?? '',
        ),
      );
      await page.keyboard.press('Enter');
      await acted(page, { do: 'open', place: { page: 'trajectory', rollout: 'r2x3' } });
      await page.getByRole('tooltip').waitFor({ state: 'detached' });
    }));

  it('has the same in the detail pane, with links', () =>
    open('attempt-reason', async (page) => {
      const pane = page.getByRole('complementary', { name: 'Attempt' });
      const text = await pane.innerText();
      for (const part of [
        /Member 1000 asks/,
        /Cause\s+loans: row not renewed/,
        /6\.4 s/,
        /Diverges at step 3 from/,
        KEYS,
      ])
        assert.match(text, part);
      assert.deepEqual(await checks(pane), CHECKS);
      await pane.getByRole('button', { name: 'step 3', exact: true }).click();
      await page.waitForFunction(() => /"rollout":"r0x3","seq":\d+/.test(document.body.dataset['action'] ?? ''));
      await pane.getByRole('button', { name: /^attempt \d$/ }).click();
      await page.waitForFunction(() => /"rollout":"r0x[^3]","seq":\d+/.test(document.body.dataset['action'] ?? ''));
      await page.getByRole('grid').focus();
      await page.keyboard.press('ArrowRight');
      await pane.getByText('attempt 4 of 8').waitFor();
      assert.doesNotMatch(await pane.innerText(), /Cause|Diverges/);
    }));

  it('cannot be forked on a read-only page, nor before it starts', async () => {
    await open('attempt-read-only', async (page) => {
      await page.locator('.attempt-keys').getByText('copy link').waitFor();
      assert.equal(await page.locator('.attempt-keys').getByText('fork').count(), 0);
      await page.keyboard.press('f');
      await page.getByText('This attempt cannot be forked.').waitFor();
    });
    await open('attempt-not-begun', async (page) => {
      await page.keyboard.press('f');
      await page.getByText('This attempt has not started yet.').waitFor();
    });
  });
});
