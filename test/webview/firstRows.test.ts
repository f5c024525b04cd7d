// The first rows of a batch are drawn in the document's skeleton while the page's program is still loading, exactly
// where the page then draws them.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { PagePlace } from '../../src/protocol/page.ts';
import { ticketUrl, viewUrl } from '../../src/protocol/viewLink.ts';
import { root } from '../support/cli.ts';
import { importBatch } from '../support/finishedBatch.ts';
import { type TestServer, TestStore } from '../support/rolloutServer.ts';
import { launchBrowser } from './support/browser.ts';

const PROGRAM = /\/view\/show-\w+\.js$/;
const EARLY = '#page > .skeleton canvas';
const GRID = 'main .batch-grid canvas';

/** A canvas's position and pixels. */
interface CanvasState {
  readonly box: unknown;
  readonly pixels: string;
}

describe('the first rows of a batch', { timeout: 120_000 }, () => {
  const store = new TestStore();
  let server: TestServer;
  let browser: Browser;
  let batch = '';

  before(async () => {
    [browser, server] = await Promise.all([
      launchBrowser(),
      store.start(['--executor', 'none', '--pages', path.join(root, 'dist', 'webview')]),
    ]);
    ({ batch } = await importBatch(server, { tasks: 40, attempts: 8, steps: 2 }));
  });
  after(async () => {
    await browser.close();
    await store[Symbol.asyncDispose]();
  });

  /** A page that has all responses, and whose program loads when `come` is called. */
  async function held(
    place: Partial<Extract<PagePlace, { page: 'batch' }>> = {},
    choices: Readonly<Record<string, unknown>> = {},
  ): Promise<AsyncDisposable & { readonly page: Page; come(): void }> {
    const context = await browser.newContext({ viewport: { width: 1300, height: 800 } });
    await context.addInitScript((kept) => {
      for (const [key, value] of Object.entries(kept)) localStorage.setItem(`rollout.${key}`, JSON.stringify(value));
    }, choices);
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    await page.route(PROGRAM, async (route) => {
      await promise;
      await route.continue();
    });
    const rows = page
      .waitForEvent('websocket')
      .then((socket) =>
        socket.waitForEvent('framereceived', ({ payload }) => String(payload).startsWith('{"type":"head"')),
      );
    const row = page.waitForResponse((response) => response.url().endsWith(batch));
    await page.goto(
      viewUrl({ url: server.url, token: server.file.read_token }, { page: 'batch', batch, ...place }, false),
      { waitUntil: 'commit' },
    );
    await Promise.all([rows, row]);
    await drawn(page);
    return { page, come: () => resolve(undefined), [Symbol.asyncDispose]: () => context.close() };
  }

  function canvasState(page: Page, canvas: string): Promise<CanvasState> {
    return page.locator(canvas).evaluate((element: HTMLCanvasElement) => ({
      box: element.getBoundingClientRect().toJSON() as unknown,
      pixels: element.toDataURL(),
    }));
  }

  /** After two frames, pending drawing is done. */
  function drawn(page: Page): Promise<unknown> {
    return page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  }

  it('match the page to the pixel, and are removed when it has its own', async () => {
    // The texts of tasks are loaded after the rows.
    await using opened = await held({}, { 'batch.columns': { hidden: ['question', 'answer'], widths: {} } });
    const { page } = opened;
    await page.locator('#page > .skeleton.has-rows').waitFor();
    const early = await canvasState(page, EARLY);
    opened.come();
    await page.locator(GRID).waitFor();
    await page.locator('.skeleton').waitFor({ state: 'detached' });
    await page.locator('.batch-page[aria-busy="false"]').waitFor();
    await drawn(page);
    assert.deepEqual(await canvasState(page, GRID), early);
  });

  it('wait for the page when it may show others: a filter, another order', async () => {
    for (const [place, choices] of [
      [{ filter: 'outcome:failed' }, {}],
      [{}, { 'batch.nightly': { sort: 'rate', group: 'none' } }],
    ] as const) {
      await using opened = await held(place, choices);
      assert.equal(await opened.page.locator('.skeleton canvas').count(), 0);
      opened.come();
      await opened.page.locator(GRID).waitFor();
    }
  });

  it('appear once for an address with a ticket, which the page exchanges for the token', async () => {
    const address = ticketUrl(server.url, await server.api.ticket(false), { page: 'batch', batch }, false);
    const open = async (): Promise<Page> => {
      const page = await (await browser.newContext()).newPage();
      await page.goto(address);
      return page;
    };
    const first = await open();
    await first.locator(GRID).waitFor();
    const params = new URLSearchParams(new URL(first.url()).hash.slice(1));
    assert.deepEqual([params.has('ticket'), params.get('token')], [false, server.file.read_token]);
    await first.reload();
    await first.locator(GRID).waitFor();
    await (await open()).getByText('This address was opened before').waitFor();
  });
});
