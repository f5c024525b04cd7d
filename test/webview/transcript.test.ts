// The transcript of a trajectory in use: reading, folding, finding, following, printing.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('transcript');

function transcript(page: Page): Locator {
  return page.getByRole('feed', { name: 'Transcript' });
}

/** Waits until the row of the cursor contains a text, and is on the screen. */
async function current(page: Page, text: string | RegExp): Promise<Locator> {
  const row = transcript(page).locator('[aria-current="true"]').filter({ hasText: text });
  await row.waitFor();
  await page.waitForFunction(() => {
    const row = document.querySelector('[aria-current="true"]')?.getBoundingClientRect();
    const list = document.querySelector('.transcript-scroll')?.getBoundingClientRect();
    return row !== undefined && list !== undefined && row.top < list.bottom && row.bottom > list.top;
  });
  return row;
}

describe('the transcript', { timeout: 300_000 }, () => {
  it('shares the cursor with the steps, and V switches between them', () =>
    open('failed-call', async (page) => {
      await current(page, 'update_reservation_flights');
      await page.keyboard.press('v');
      await page
        .getByRole('tree', { name: 'Steps' })
        .locator('[aria-selected="true"]')
        .filter({ hasText: 'update_reservation_flights' })
        .waitFor();
      await page.keyboard.press('k');
      await page.keyboard.press('v');
      await page.keyboard.press('k');
      await page.keyboard.press('j');
      await current(page, 'get_reservation_details');
      await page.getByRole('button', { name: 'Steps', exact: true }).click();
      await page.getByRole('tree', { name: 'Steps' }).waitFor();
      await page.keyboard.press('v');
      await transcript(page).waitFor();
      await page.keyboard.press('2');
      await page.getByRole('tree', { name: 'Steps' }).waitFor();
    }));

  it('folds calls of side models below what they belong to', () =>
    open('side-calls', async (page) => {
      const rows = transcript(page).getByRole('article');
      const judge = rows.filter({ hasText: 'Judge' }).first();
      await judge.getByText('judge-model · 40 → 4 tokens').waitFor();
      assert.equal(await judge.locator('[aria-expanded="true"]').count(), 0);
      await judge.getByRole('button', { name: /Prompt/ }).click();
      await judge.getByText('You are a judge.').last().waitFor();
      await rows.filter({ hasText: 'Simulated user' }).first().waitFor();
    }));

  it('opens arguments and results alone, and everything in a row with X', () =>
    open('failed-call', async (page) => {
      const row = await current(page, 'update_reservation_flights');
      await row.getByRole('button', { name: /^Result of/ }).click();
      assert.equal(await row.locator('[aria-expanded="true"]').count(), 1);
      await page.keyboard.press('x');
      await row.getByText('"cabin": "business"').waitFor();
      assert.equal(await row.locator('[aria-expanded="false"]').count(), 0);
      await page.keyboard.press('x');
      assert.equal(await row.locator('[aria-expanded="true"]').count(), 0);
      assert.ok(await row.getByText('tool error').isVisible());
    }));

  it('folds a sub-agent as a whole', () =>
    open('team', async (page) => {
      await current(page, 'searcher#1');
      const rows = transcript(page).getByRole('article');
      const before = await rows.count();
      await page.keyboard.press('x');
      await transcript(page).locator('.is-agent [aria-expanded="false"]').waitFor();
      assert.equal(await rows.count(), before - 1);
      await page.keyboard.press('x');
      await transcript(page).locator('.is-agent [aria-expanded="true"]').waitFor();
    }));

  it('finds a text in folded parts, and Esc keeps the cursor', () =>
    open('whole', async (page) => {
      await current(page, 'move my reservation');
      await page.keyboard.press('/');
      await page.keyboard.type('card_2');
      await page.getByText('1 of 1').waitFor();
      const row = await current(page, 'get_user_details');
      await row.locator('.tr-open').getByText('card_2').waitFor();
      await page.keyboard.press('Escape');
      await page.locator('.find-box').waitFor({ state: 'detached' });
      await current(page, 'get_user_details');
      await page.keyboard.press('Control+f');
      await page.keyboard.type('giraffe');
      await page.getByText('No results').waitFor();
      await page.keyboard.press('Escape');
      await page.keyboard.press('j'); // The focus is back in the text.
      await current(page, 'update_reservation_flights');
    }));

  it('gives the find field the focus before the next key', () =>
    open('whole', async (page) => {
      await current(page, 'move my reservation');
      const focused = await page.evaluate(async () => {
        document
          .querySelector('.transcript-scroll')
          ?.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true, cancelable: true }));
        await Promise.resolve().then(() => undefined); // The page has rendered, but not painted.
        return document.activeElement?.closest('.find-box') !== null;
      });
      assert.ok(focused);
    }));

  it('goes forward and back through the matches of a long recording', () =>
    open('long', async (page) => {
      await current(page, 'Step 700');
      await page.keyboard.press('/');
      await page.keyboard.type('Step 9');
      await page.getByText('2 of 111').waitFor();
      await current(page, 'Step 900');
      await page.keyboard.press('Enter');
      await current(page, 'Step 901');
      await page.keyboard.press('Shift+Enter');
      await page.keyboard.press('Shift+Enter');
      await page.getByText('1 of 111').waitFor();
      await current(page, 'Step 9');
      await page.keyboard.press('Escape');
      await page.keyboard.press('End');
      await current(page, 'Step 999');
      assert.ok((await transcript(page).getByRole('article').count()) < 60, 'renders what is visible');
    }));

  it('jumps with a click on its axis, and scrolls with a drag, which keeps the cursor', () =>
    open('long', async (page) => {
      await current(page, 'Step 700');
      const axis = await page.locator('.axis-canvas').boundingBox();
      assert.ok(axis !== null && axis.height === 40);
      const at = (share: number): [number, number] => [axis.x + 40 + (axis.width - 40) * share, axis.y + 20];
      await page.mouse.click(...at(0.25));
      await current(page, /Step 2[45]\d/);
      await page.mouse.move(...at(0.5));
      await page.mouse.down();
      await page.mouse.move(...at(0.6));
      await page.mouse.move(...at(0.9));
      await page.mouse.up();
      await transcript(page)
        .getByText(/^Step (89|90)\d$/)
        .first()
        .waitFor();
      assert.equal(await transcript(page).locator('[aria-current="true"]').count(), 0, 'the cursor is elsewhere');
      await page.keyboard.press('j');
      await current(page, /Step 25\d/);
    }));

  it('follows a live rollout, and shows what the model is writing', () =>
    open('running', async (page) => {
      await current(page, 'one after the');
      await page.evaluate(() => window.dispatchEvent(new Event('story-rest')));
      await current(page, 'as expected');
    }));

  it('stops following when the user scrolls, and follows again with .', () =>
    open('running', async (page) => {
      await page.setViewportSize({ width: 1045, height: 250 });
      await current(page, 'one after the');
      const foot = page.locator('.page-foot');
      await foot.getByText('Live, following').waitFor();
      await transcript(page).hover();
      await page.mouse.wheel(0, -200);
      await foot.getByText('Live', { exact: true }).waitFor();
      await page.evaluate(() => window.dispatchEvent(new Event('story-rest')));
      await foot.getByText('Recorded').waitFor();
      assert.equal(
        await transcript(page).locator('[aria-current="true"]').filter({ hasText: 'as expected' }).count(),
        0,
      );
    }));

  it('has checks and an outline next to it, and none on a narrow page, where the text has the checks', () =>
    open('failed-call', async (page) => {
      await current(page, 'update_reservation_flights');
      const outline = page.getByRole('listbox', { name: 'Outline' });
      const chosen = outline.locator('[aria-selected="true"]');
      assert.match((await chosen.textContent()) ?? '', /^3.*update_reservation_flights$/);
      await outline.getByText('get_reservation_details').click();
      await current(page, 'get_reservation_details');
      await outline.focus();
      await page.keyboard.press('Home');
      await current(page, 'I can help with that.');
      const checks = page.getByRole('region', { name: 'Checks' });
      await checks.getByText('1 of 2 passed').waitFor();
      await checks.getByRole('button', { name: /cabin.*business expected.*economy actual/ }).click();
      const score = await current(page, 'Score');
      assert.equal(await score.getByRole('table', { name: 'Checks' }).count(), 0, 'they are next to it');
      await page.setViewportSize({ width: 990, height: 700 });
      await checks.waitFor({ state: 'hidden' });
      await score.getByRole('table', { name: 'Checks' }).waitFor();
      assert.equal(await outline.count(), 0);
    }));

  it('is what a recording without times opens with', () =>
    open('imported', async (page) => {
      await current(page, 'It is on time.');
      await page.keyboard.press('v');
      await page.getByRole('tree', { name: 'Steps' }).waitFor();
    }));

  it('says which replies belong to a conversation that the task continues', () =>
    open('continued', async (page) => {
      await current(page, 'Middlemarch');
      const titles = await transcript(page).locator('.tr-title').allInnerTexts();
      assert.equal(titles.filter((title) => /Assistant\s*given with the task/.test(title)).length, 2);
      assert.equal(titles.filter((title) => /^Agent/.test(title)).length, 1);
    }));

  it('shows the first text while the rest of a recording is still being read, and leaves it in place', () =>
    open('early', async (page) => {
      const first = transcript(page).getByRole('article').first();
      await first.waitFor();
      const foot = page.locator('.page-foot');
      await foot.getByText(/^2,000 of \d+,\d+ events loaded$/).waitFor();
      const [text, box] = [await first.innerText(), await first.boundingBox()];
      await page.evaluate("dispatchEvent(new Event('story-rest'))");
      await foot.getByText('events loaded').waitFor({ state: 'detached' });
      assert.deepEqual([await first.innerText(), await first.boundingBox()], [text, box]);
    }));

  it('says that a recording holds no messages', () =>
    open('empty', async (page) => {
      await page.getByText('This recording holds no messages').waitFor();
      await page.getByRole('button', { name: 'Show Steps' }).click();
      await page.getByRole('tree', { name: 'Steps' }).waitFor();
    }));

  it('prints everything, with all parts open', () =>
    open('whole', async (page) => {
      await current(page, 'move my reservation');
      await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
      await transcript(page).locator('[aria-expanded="false"]').first().waitFor({ state: 'detached' });
      assert.equal(await transcript(page).getByRole('article').count(), 7);
      await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
      await transcript(page).locator('[aria-expanded="false"]').first().waitFor();
    }));
});
