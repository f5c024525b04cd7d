// The trajectory page in use: folds, marks on the time axis, the divergence, the world's rows, tokens.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { storyPages } from './support/storyPage.ts';

const open = storyPages('trajectory');

function steps(page: Page): Locator {
  return page.getByRole('tree', { name: 'Steps' });
}

function row(page: Page, text: string): Locator {
  return steps(page).getByRole('treeitem').filter({ hasText: text });
}

/** The text of the selected row, once it holds `text`. */
async function selected(page: Page, text: string): Promise<void> {
  await steps(page).locator('[aria-selected="true"]').filter({ hasText: text }).waitFor();
}

describe('the trajectory page', { timeout: 300_000 }, () => {
  it('opens and closes a fold by keyboard and mouse', () =>
    open('fold', async (page) => {
      const fold = row(page, '×4');
      const expanded = steps(page).locator('[aria-expanded="true"]').filter({ hasNotText: 'score' });
      await fold.waitFor();
      assert.equal(await fold.getAttribute('aria-expanded'), 'false');
      await steps(page).focus();
      await page.keyboard.press('ArrowRight');
      await expanded.waitFor();
      await page.keyboard.press('j');
      await selected(page, 'repeat');
      await page.keyboard.press('ArrowLeft'); // from inside: closes, and the fold is selected
      await fold.waitFor();
      assert.equal(await fold.getAttribute('aria-selected'), 'true');
      await fold.locator('.is-fold').click();
      await expanded.waitFor();
      await expanded.locator('.is-fold').click();
      await fold.waitFor();
    }));

  it('shows a distant step before the rest is read, and keeps it in place when the rest arrives', () =>
    open('far-step', async (page) => {
      await selected(page, 'i: 2699');
      const chosen = steps(page).locator('[aria-selected="true"]');
      assert.equal(await chosen.locator('.step-number').textContent(), '2700');
      await page.locator('.detail').getByText('step 2700').waitFor();
      assert.match((await page.locator('.page-foot').textContent()) ?? '', / of .* events/);
      await page.keyboard.press('j');
      await selected(page, 'i: 2700');
      await steps(page).evaluate((list) => (list.scrollTop += 60));
      const topOf = async (): Promise<number> => (await chosen.boundingBox())?.y ?? Number.NaN;
      const before = await topOf();
      await chosen.evaluate((row) => (row.dataset['kept'] = 'yes'));
      await page.evaluate(() => window.dispatchEvent(new Event('story-rest')));
      await page
        .locator('.page-foot')
        .filter({ hasText: 'Imported' })
        .or(page.locator('.page-foot').filter({ hasText: 'Recorded' }))
        .waitFor();
      assert.equal(await topOf(), before, 'nothing moved');
      assert.equal(await chosen.getAttribute('data-kept'), 'yes', 'the row is the same element');
      assert.ok(Number(await chosen.getAttribute('aria-posinset')) > 2_700, 'counted from the beginning now');
      await page.keyboard.press('Home');
      await selected(page, 'Count.');
    }));

  it('goes to the first and to the last step while the rest is still being read', () =>
    open('far-step', async (page) => {
      await selected(page, 'i: 2699');
      await page.keyboard.press('Home');
      await selected(page, 'Count.');
      await page.keyboard.press('End');
      await steps(page)
        .getByRole('treeitem')
        .last()
        .and(steps(page).locator('[aria-selected="true"]'))
        .filter({ hasText: 'end' })
        .waitFor();
    }));

  it('remembers the step, the check, and the tab for a reload', () =>
    open('other-check', async (page) => {
      const place = async (): Promise<unknown> =>
        JSON.parse((await page.locator('body').getAttribute('data-place')) ?? '');
      await selected(page, 'answer');
      await page.getByRole('tab', { name: 'Answer', selected: true }).waitFor();
      await page.keyboard.press('4');
      await page.getByRole('tab', { name: 'Raw', selected: true }).waitFor();
      await page.keyboard.press('j');
      await selected(page, 'nothing else changed');
      const { seq } = ((await place()) as { place: { seq: number } }).place;
      assert.deepEqual(await place(), {
        place: { page: 'trajectory', rollout: 'r1', seq, check: 1, tab: 'raw' },
        title: 'renew-missing-copy · 3',
      });
    }));

  it('names a recording by the text of its task, in the page and in the title', () =>
    open('imported', async (page) => {
      await page
        .getByRole('heading', { level: 1, name: /^Your user ID is mia_li_3668. You want to fly .* \(one way\)/ })
        .waitFor();
      await page.locator('body[data-place*="You want to fly"]').waitFor();
      await page.keyboard.press('v');
      await page.keyboard.press('End');
    }));

  it('marks the replies of a conversation that the task continues as given', () =>
    open('continued', async (page) => {
      const rows = steps(page).getByRole('treeitem').filter({ hasText: 'Environment Observation' });
      assert.equal(await rows.filter({ hasText: 'given' }).count(), 2);
      const messages = page.getByRole('article').filter({ hasText: 'Environment Observation' });
      await messages.filter({ hasText: 'given' }).nth(1).waitFor();
      assert.deepEqual((await page.getByRole('article').locator('.message-head strong').allInnerTexts()).slice(0, 6), [
        'system',
        'user',
        'assistant',
        'user',
        'assistant',
        'user',
      ]);
    }));

  it('moves past a closed fold with J and into it with L', () =>
    open('fold', async (page) => {
      await steps(page).focus();
      await page.keyboard.press('j');
      await selected(page, '×3');
      await page.keyboard.press('k');
      await selected(page, '×4');
      await page.keyboard.press('l');
      await page.keyboard.press('j');
      await selected(page, 'repeat');
    }));

  it('opens the fold that contains a requested place', () =>
    open('fold-open', async (page) => {
      assert.equal(await row(page, '×4').count(), 0);
      await selected(page, 'repeat');
    }));

  it('follows a live rollout to its end, also when it ends immediately', () =>
    open('running', async (page) => {
      await selected(page, 'one after the'); // the text that the model is writing
      await page.evaluate(() => window.dispatchEvent(new Event('story-rest')));
      await steps(page)
        .getByRole('treeitem')
        .last()
        .and(steps(page).locator('[aria-selected="true"]'))
        .filter({ hasText: 'end' })
        .waitFor();
    }));

  it('collapses the time that the rollout was held, and says how long it took', () =>
    open('held', async (page) => {
      const canvas = page.locator('.axis-canvas');
      const box = await canvas.boundingBox();
      assert.ok(box !== null);
      const titles = new Map<string, number>();
      for (let x = 110; x < box.width; x += 8) {
        await page.mouse.move(box.x + x, box.y + 28);
        const title = (await canvas.getAttribute('title')) ?? '';
        titles.set(title, (titles.get(title) ?? 0) + 8);
      }
      const width = titles.get('Held for 2.0 s: paused') ?? 0;
      assert.ok(width >= 32 && width <= 56, `${width} pixels for 2 of 7.5 s`);
    }));

  it('goes to a note from its mark on the axis, and shows its text', () =>
    open('why', async (page) => {
      const canvas = page.locator('.axis-canvas');
      const box = await canvas.boundingBox();
      assert.ok(box !== null);
      // The clock's row: from left to right until a mark shows its text.
      let found = -1;
      for (let x = 108; x < box.width && found < 0; x += 4) {
        await page.mouse.move(box.x + x, box.y + 30);
        if ((await canvas.getAttribute('title'))?.includes('check the limit') === true) found = x;
      }
      assert.ok(found > 0, 'the note is on the axis');
      await row(page, 'find_member').click();
      await page.mouse.click(box.x + found, box.y + 30);
      await page.getByRole('group', { name: 'Notes' }).getByText("Why doesn't it check the limit first?").waitFor();
    }));

  it('marks where it diverged from an attempt that passed, and goes there', () =>
    open('why', async (page) => {
      const split = row(page, 'diverges');
      await split.waitFor();
      assert.match((await split.textContent()) ?? '', /^8\W*renew_loan/u);
      const verdict = page.locator('.verdict');
      await verdict.getByRole('button', { name: 'step 8' }).click();
      await selected(page, 'diverges');
      assert.equal(await verdict.getByRole('button', { name: 'attempt 1' }).count(), 1);
    }));

  it('opens a failed attempt at its failed check, and E stops at every red mark', () =>
    open('reason', async (page) => {
      await selected(page, 'loans L-3001');
      await page.locator('.detail').getByText('check 1 of 3').waitFor();
      await page.keyboard.press('e');
      await selected(page, 'answer');
      await page.keyboard.press('e');
      await page.getByText('No more errors.').first().waitFor();
      await page.keyboard.press('Shift+E');
      await page.keyboard.press('Shift+E');
      await selected(page, 'renew_loan');
    }));

  it('quotes values that end a sentence', () =>
    open('reason', async (page) => {
      const mismatch = '“L-3001 is renewed until May 15.”, expected “L-3001 is renewed until May 22.”';
      await row(page, mismatch).waitFor();
      const verdict = await page.getByRole('region', { name: 'Verdict' }).innerText();
      assert.ok(verdict.includes('due is 2026-05-08, expected 2026-05-22, '), verdict);
      assert.ok(verdict.includes(`answer is ${mismatch} `), verdict);
    }));

  it('goes to the divergence with D, then to later differences', () =>
    open('reason', async (page) => {
      await selected(page, 'loans L-3001');
      const verdict = page.getByRole('region', { name: 'Verdict' });
      assert.match((await verdict.textContent()) ?? '', /^\W*failed\W*loans: row not renewed\..*Diverges at step 3/u);
      await verdict.getByRole('button', { name: 'divergence' }).click();
      await selected(page, 'renew_loan');
      await page.keyboard.press('d');
      await selected(page, 'list_loans');
      await page.keyboard.press('d');
      await selected(page, 'L-3001 is renewed');
      await page.keyboard.press('d');
      await page.getByText('No more differences.').first().waitFor();
    }));

  it('goes to the divergence with D from the check at which a failed attempt opens', () =>
    open('reason', async (page) => {
      await selected(page, 'loans L-3001');
      await page.keyboard.press('d');
      await selected(page, 'renew_loan');
    }));

  it('closes and opens the checks of a score with H and L', () =>
    open('reason', async (page) => {
      await selected(page, 'loans L-3001');
      await page.keyboard.press('h');
      await selected(page, '1 of 3 checks passed');
      assert.equal(await row(page, 'nothing else changed').count(), 0);
      await page.keyboard.press('l');
      await row(page, 'nothing else changed').waitFor();
      await page.keyboard.press('l');
      await selected(page, 'loans L-3001');
    }));

  it('shows the rows that a check compares, and the step that tried to change them', () =>
    open('reason', async (page) => {
      await selected(page, 'loans L-3001');
      await page.keyboard.press('2');
      const rows = page.getByRole('region', { name: 'loans', exact: true });
      const cells = rows.locator('mark');
      await cells.first().waitFor();
      assert.deepEqual(await cells.allTextContents(), ['22', '1', '08', '0']);
      await rows.getByText('No step changed this row.').waitFor();
      await rows.getByRole('button', { name: 'Step 3' }).click();
      await selected(page, 'renew_loan');
    }));

  it('collapses the time axis on low pages until Z, and keeps the details wide enough', () =>
    open('reason', async (page) => {
      const heightOf = async (): Promise<number> => (await page.locator('.axis').boundingBox())?.height ?? 0;
      await selected(page, 'loans L-3001');
      await page.setViewportSize({ width: 910, height: 600 });
      const expand = page.getByRole('button', { name: 'Expand the time axis' });
      await expand.waitFor();
      assert.ok((await heightOf()) <= 41, 'a bar of 40 px and a line');
      assert.ok(((await page.locator('.detail').boundingBox())?.width ?? 0) >= 420);
      await page.keyboard.press('z');
      await expand.waitFor({ state: 'detached' });
      assert.ok((await heightOf()) > 90);
      await page.getByRole('button', { name: 'Score: 2 of 3 checks failed' }).click();
      await page.setViewportSize({ width: 890, height: 600 });
      await page.locator('.trajectory-body > .splitter.is-column').waitFor();
    }));

  it('puts tabs that have no room into a menu, also for the keyboard', () =>
    open('failed-call', async (page) => {
      const tabs = page.getByRole('tab');
      await tabs.first().waitFor();
      const widen = (width: string): Promise<void> =>
        page.locator('.tabs').evaluate((part, width) => void (part.style.maxWidth = width), width);
      const more = page.getByRole('button', { name: 'More tabs' });
      await widen('260px'); // As with large letters in a narrow pane.
      await more.waitFor();
      const clipped = await page.locator('.tab-list').evaluate((list) => list.scrollWidth - list.clientWidth);
      assert.ok(clipped <= 1, `${clipped} pixels are clipped`);
      assert.equal(await page.getByRole('tab', { name: 'Raw' }).count(), 0);
      await more.click();
      await page.locator('[role="menuitem"]:focus').waitFor();
      await page.keyboard.press('End');
      await page.keyboard.press('Enter');
      await page.getByRole('tab', { name: 'Raw', selected: true }).waitFor();
      await page.getByRole('tab', { name: 'Raw' }).focus();
      await page.keyboard.press('ArrowLeft');
      const timing = page.getByRole('tab', { name: 'Timing', selected: true });
      await timing.waitFor();
      await page.waitForFunction(() => document.activeElement?.id === 'tab-timing');
      await widen('');
      await more.waitFor({ state: 'detached' });
      assert.equal(await tabs.count(), 6);
    }));

  it('zooms to the selected step, also right after the selection', () =>
    open('why', async (page) => {
      await steps(page).focus();
      await page.keyboard.press('Home');
      await page.keyboard.press('Shift+J');
      await page.keyboard.press('Shift+J');
      await page.keyboard.press('z');
      const shown = page.locator('.axis-legend').getByText(' shown');
      await shown.waitFor();
      assert.equal(await shown.textContent(), '1.5 s shown', 'step 2 took 1.3 s, and some room on both sides');
    }));

  it('reaches the last of many changed rows, and shows the selected one whole', () =>
    open('many-changes', async (page) => {
      const rows = page.getByRole('tree', { name: 'Changed rows' });
      await rows.focus();
      await page.keyboard.press('End');
      await rows.getByText('notes/moves.md').last().waitFor();
      await page.getByRole('region', { name: 'notes/moves.md' }).waitFor();
      assert.ok((await rows.getByRole('treeitem').count()) < 60, 'only what is in sight is drawn');
    }));

  it('marks search results in the list of steps, and clears them with the search', () =>
    open('why', async (page) => {
      const marks = steps(page).locator('mark');
      await page.keyboard.press('/');
      await page.keyboard.type('FIND_member');
      await marks.filter({ hasText: 'find_member' }).first().waitFor(); // The first letters have other matches.
      assert.deepEqual([...new Set(await marks.allTextContents())], ['find_member']);
      const rows = await steps(page).locator('.step-row').count();
      const found = await steps(page).locator('.is-found').count();
      assert.ok(found > 0 && found < rows, `${found} of ${rows} rows`);
      await page.keyboard.press('Escape');
      await marks.first().waitFor({ state: 'detached' });
      assert.equal(await steps(page).locator('.is-found').count(), 0);
    }));

  it('moves through the tokens with the arrow keys', () =>
    open('sampled-tokens', async (page) => {
      await page.getByRole('listbox', { name: 'Tokens' }).focus();
      await page.keyboard.press('ArrowRight');
      await page.getByText('Token 200, position 3,912').waitFor();
      await page.keyboard.press('End');
      await page.getByText('position 3,997').waitFor();
    }));

  it('has a list of 480 px, to drag from 320 px to 60% of the width; a double-click resets it', () =>
    open('fold', async (page) => {
      const [bar, list] = [page.getByRole('separator', { name: 'Resize' }), page.locator('.splitter-part').first()];
      const widthOf = async (): Promise<number> => Math.round((await list.boundingBox())?.width ?? 0);
      const dragTo = async (x: number): Promise<void> => {
        const box = await bar.boundingBox();
        assert.ok(box);
        await page.mouse.move(box.x + box.width / 2, box.y + 100);
        await page.mouse.down();
        await page.mouse.move(x, box.y + 100, { steps: 4 });
        await page.mouse.up();
      };
      for (const width of [1388, 1045]) {
        await page.setViewportSize({ width, height: 600 });
        await bar.waitFor();
        assert.equal(await widthOf(), 480);
        await dragTo(100);
        assert.equal(await widthOf(), 320);
        await dragTo(1000);
        assert.equal(await widthOf(), Math.min(Math.round(width * 0.6), width - 420 - 1)); // with a line between
        await bar.dblclick();
        assert.equal(await widthOf(), 480);
      }
    }));

  it('shows the selected row and its details in a low window next to code', () =>
    open('reason', async (page) => {
      for (const height of [800, 600]) {
        await page.setViewportSize({ width: 440, height });
        await page.locator('.detail').getByText('loans L-3001').first().waitFor();
        await page.waitForFunction(() => {
          const [list, detail, foot] = ['.steps-rows', '.detail tbody td', '.page-foot'].map((name) =>
            document.querySelector(name)?.getBoundingClientRect(),
          );
          const row = document.querySelector('.steps-rows [aria-selected="true"]')?.getBoundingClientRect();
          if (list === undefined || detail === undefined || foot === undefined || row === undefined) return false;
          return row.bottom <= list.bottom + 1 && row.top >= list.top - 1 && detail.top + 20 <= foot.top;
        });
      }
    }));

  it('opens with the form of a fork, at the requested place or at the last step', async () => {
    const form = (page: Page, title: RegExp): Promise<void> => page.locator('.detail-part').getByText(title).waitFor();
    await open('fork-asked', async (page) => form(page, /^Fork from the model call, step 5$/));
    await open('fork-asked-at', async (page) => {
      await form(page, /^Fork from renew_loan, step 3$/);
      await selected(page, 'renew_loan');
    });
  });
});
