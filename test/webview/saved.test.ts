// A saved comparison: one file, opened from the disk as somebody would who got it by mail, used without any server.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { Bench } from '../support/cli.ts';
import { trial } from '../support/tauTrial.ts';
import { launchBrowser } from './support/browser.ts';

const ATTEMPTS = [7, 14, 21].map((days, number) => trial('renew', number, number > 0 ? 1 : 0, [
  { name: 'find_member', arguments: { name: 'Ada' }, result: '{"id": 3}' }, { name: 'renew_loan', arguments: { loan_id: 17, days }, result: `{"days": ${days}}` },
]));

describe('a comparison that was saved', { timeout: 180_000 }, () => {
  let browser: Browser;
  let page: Page;
  const asked: string[] = [];
  const troubles: string[] = [];

  before(async () => {
    const bench = new Bench();
    try {
      writeFileSync(bench.path('attempts.json'), JSON.stringify(ATTEMPTS));
      const { batch } = await bench.json<{ batch: string }>(['import', bench.path('attempts.json')]);
      const { file } = await bench.json<{ file: string }>(['view', `${batch}/renew`, '--compare', '--save', bench.path('saved.html')]);
      browser = await launchBrowser();
      page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
      page.setDefaultTimeout(60_000);
      page.on('request', (request) => asked.push(new URL(request.url()).protocol));
      page.on('pageerror', (error) => troubles.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error') troubles.push(message.text());
      });
      await page.goto(pathToFileURL(file).href);
      await page.locator('.compare-head').first().waitFor();
    } finally {
      await bench.close(); // what is shown from here on is in the file
    }
  }, { timeout: 180_000 });
  after(() => browser.close());

  const steps = (target: Page) => target.getByRole('listbox', { name: 'Steps side by side' });

  it('shows every attempt side by side', async () => {
    assert.equal(await page.locator('.compare-head').count(), ATTEMPTS.length);
    await steps(page).getByRole('option').filter({ hasText: 'renew_loan' }).waitFor();
  });

  it('goes by keys to the end, to the attempt beside the reference, and into its trajectory and back', async () => {
    await page.keyboard.press('End');
    await steps(page).getByRole('option').last().and(steps(page).locator('[aria-selected="true"]')).waitFor();
    await page.keyboard.press('l');
    await page.locator('.compare-head.is-chosen').filter({ hasText: 'attempt 1' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('tree', { name: 'Steps' }).locator('[aria-selected="true"]').waitFor();
    await page.locator('.head-attempt').filter({ hasText: 'attempt 1' }).waitFor();
    await page.keyboard.press('c');
    await steps(page).waitFor();
  });

  it('asks nobody for anything, and has nothing to say to the console', () => {
    assert.deepEqual([...new Set(asked)].filter((protocol) => !['file:', 'data:', 'blob:'].includes(protocol)), []);
    assert.deepEqual(troubles, []);
  });
});
