// A saved comparison: one file, opened from the disk like a mail attachment, used without any server.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { Bench } from '../support/cli.ts';
import { trial } from '../support/tauTrial.ts';
import { launchBrowser } from './support/browser.ts';

/** Attempts that renew for this many days; the first `failed` ones fail. */
const attempts = (days: readonly number[], failed: number) =>
  days.map((each, number) =>
    trial('renew', number, number >= failed ? 1 : 0, [
      { name: 'find_member', arguments: { name: 'Ada' }, result: '{"id": 3}' },
      { name: 'renew_loan', arguments: { loan_id: 17, days: each }, result: `{"days": ${each}}` },
    ]),
  );
const ATTEMPTS = attempts([7, 14, 21], 1);
const LATER = attempts([14, 21], 0);

describe('a saved comparison', { timeout: 180_000 }, () => {
  let browser: Browser;
  let page: Page;
  let other: Page;
  let batches: Page;
  const asked: string[] = [];
  const troubles: string[] = [];

  before(
    async () => {
      const bench = new Bench();
      try {
        writeFileSync(bench.path('attempts.json'), JSON.stringify(ATTEMPTS));
        const { batch } = await bench.json<{ batch: string }>(['import', bench.path('attempts.json')]);
        const { file } = await bench.json<{ file: string }>([
          'view',
          `${batch}/renew`,
          '--compare',
          '--save',
          bench.path('saved.html'),
        ]);
        const { file: ofOther } = await bench.json<{ file: string }>([
          'view',
          `${batch}/renew`,
          '--compare',
          '--left',
          `${batch}/renew/3`,
          '--save',
          bench.path('other.html'),
        ]);
        writeFileSync(bench.path('later.json'), JSON.stringify(LATER));
        const { batch: later } = await bench.json<{ batch: string }>(['import', bench.path('later.json')]);
        const { file: both } = await bench.json<{ file: string }>([
          'view',
          batch,
          later,
          '--with-trajectories',
          '--save',
          bench.path('both.html'),
        ]);
        browser = await launchBrowser();
        page = await opened(file);
        await pair(page).waitFor();
        other = await opened(ofOther);
        batches = await opened(both);
        await batches.getByRole('listbox').first().waitFor();
      } finally {
        await bench.close(); // everything from here on is in the file
      }
    },
    { timeout: 180_000 },
  );
  after(() => browser.close());

  async function opened(file: string): Promise<Page> {
    const tab = await browser.newPage({ viewport: { width: 1200, height: 800 } });
    tab.setDefaultTimeout(60_000);
    tab.on('request', (request) => asked.push(new URL(request.url()).protocol));
    tab.on('pageerror', (error) => troubles.push(error.message));
    tab.on('console', (message) => {
      if (message.type() === 'error') troubles.push(message.text());
    });
    await tab.goto(pathToFileURL(file).href);
    return tab;
  }

  const pair = (target: Page) => target.getByRole('listbox', { name: 'Steps of both attempts' });
  const steps = (target: Page) => target.getByRole('listbox', { name: 'Steps side by side' });

  it('keeps the attempt on the left', async () => {
    const left = (target: Page) => target.locator('.two-head.is-left > b').innerText();
    await pair(other).waitFor();
    assert.deepEqual([await left(page), await left(other)], ['attempt 1', 'attempt 3']);
  });

  it('shows two attempts, and with V every attempt side by side', async () => {
    await pair(page).getByRole('option').filter({ hasText: 'renew_loan' }).first().waitFor();
    await page.keyboard.press('v');
    await page.locator('.compare-head').first().waitFor();
    assert.equal(await page.locator('.compare-head').count(), ATTEMPTS.length);
    await steps(page).getByRole('option').filter({ hasText: 'renew_loan' }).waitFor();
  });

  it('moves by keys to the end, to the attempt next to the reference, and into its trajectory and back', async () => {
    await page.keyboard.press('End');
    await steps(page).getByRole('option').last().and(steps(page).locator('[aria-selected="true"]')).waitFor();
    await page.keyboard.press('l');
    await page.locator('.compare-head.is-chosen').filter({ hasText: 'attempt 1' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('feed', { name: 'Transcript' }).waitFor(); // of a recording
    await page.keyboard.press('v');
    await page.getByRole('tree', { name: 'Steps' }).locator('[aria-selected="true"]').waitFor();
    await page.locator('.head-attempt').filter({ hasText: 'attempt 1' }).waitFor();
    await page.keyboard.press('c');
    await pair(page).waitFor();
  });

  it('of two batches shows which tasks changed, and of each the attempts in both', async () => {
    await batches.getByText('1 of 1 task in both').waitFor();
    // Keys reach the tasks once they are read.
    const swapped = async (title: string): Promise<void> => {
      await batches.getByRole('heading', { name: title }).waitFor();
      await batches.getByRole('listbox').getByRole('option').filter({ hasText: 'renew' }).waitFor();
    };
    await swapped('attempts → later');
    await batches.keyboard.press('x');
    await swapped('later → attempts');
    await batches.keyboard.press('x');
    await swapped('attempts → later');
    await batches.keyboard.press('Enter');
    await pair(batches).waitFor();
    await batches.keyboard.press('v');
    await steps(batches).getByRole('option').filter({ hasText: 'renew_loan' }).waitFor();
    assert.equal(await batches.locator('.compare-head').count(), ATTEMPTS.length + LATER.length);
  });

  it('sends no requests, and leaves the console empty', () => {
    assert.deepEqual(
      [...new Set(asked)].filter((protocol) => !['file:', 'data:', 'blob:'].includes(protocol)),
      [],
    );
    assert.deepEqual(troubles, []);
  });
});
