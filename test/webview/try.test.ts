// The panel of “Try Tool…” in a real browser, with the test in place of the extension: where a tool's output lines are
// visible.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { pageBuild, root } from '../../src/build/bundles.ts';
import { pageHtml } from '../../src/common/pageHtml.ts';
import type { TryToPage } from '../../src/protocol/tryPage.ts';
import { launchBrowser, type Served, serveFolders } from './support/browser.ts';

const out = path.join(root, 'test/.out/try');
/** Long enough for a form that fills a narrow window. */
const FIELDS = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`field_${index}`, { type: 'string' }]));
const TOOL: TryToPage = {
  type: 'tool',
  file: 'words.ts',
  worlds: [],
  tool: {
    name: 'count',
    description: '',
    effect: 'pure',
    from: { kind: 'module', name: 'words.ts' },
    parameters: { type: 'object', properties: FIELDS },
  },
};

describe('output of a tried tool', { timeout: 120_000 }, () => {
  let served: Served;
  let browser: Browser;

  before(
    async () => {
      mkdirSync(out, { recursive: true });
      await build({
        ...pageBuild('0.0.0'),
        entryPoints: [{ in: 'webview/try/main.tsx', out: 'try' }],
        outdir: out,
        minify: false,
      });
      const sources = {
        script: ["'self'"],
        style: ["'self'"],
        font: ["'self'"],
        img: ["'self'"],
        connect: [],
        worker: [],
      };
      writeFileSync(
        path.join(out, 'index.html'),
        pageHtml({
          title: 'Try',
          sources,
          script: { url: 'try.js' },
          style: { url: 'try.css' },
          bodyAttributes: { 'data-host': 'vscode', 'data-page': 'try' },
        }),
      );
      [served, browser] = await Promise.all([serveFolders([out]), launchBrowser()]);
    },
    { timeout: 120_000 },
  );
  after(async () => {
    await browser.close();
    await served.close();
  });

  /** A panel with its tool running. */
  async function running(width: number): Promise<Page> {
    const page = await browser.newPage({ viewport: { width, height: 600 } });
    page.setDefaultTimeout(60_000);
    await page.addInitScript(
      'globalThis.acquireVsCodeApi = () => ({ postMessage: () => undefined, setState: () => undefined, getState: ' +
        '() => undefined });',
    );
    await page.goto(served.url);
    await postMessages(page, TOOL);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('Running').waitFor();
    return page;
  }

  async function postMessages(page: Page, ...messages: readonly TryToPage[]): Promise<void> {
    await page.evaluate((all) => {
      for (const message of JSON.parse(all) as unknown[]) window.postMessage(message);
    }, JSON.stringify(messages));
  }

  const printed = (page: Page) => page.locator('.try-printed');

  /** Prints lines up to this one, and waits until they are drawn. */
  async function print(page: Page, first: number, last: number): Promise<void> {
    await postMessages(
      page,
      ...Array.from(
        { length: last - first + 1 },
        (_, index): TryToPage => ({ type: 'output', text: `line ${first + index}` }),
      ),
    );
    await printed(page).getByText(`line ${last}`).waitFor();
    await frame(page);
  }

  /** The pending scroll events have arrived. */
  function frame(page: Page): Promise<void> {
    return page.evaluate(
      () =>
        new Promise<void>((resolve) => {
          requestAnimationFrame(() => requestAnimationFrame(() => resolve()));
        }),
    );
  }

  /** The distance of the last line from the visible end of the lines, and how far that is outside the window. */
  const hidden = (page: Page): Promise<{ readonly lines: number; readonly page: number }> =>
    printed(page).evaluate((box) => ({
      lines: Math.round(box.scrollHeight - box.scrollTop - box.clientHeight),
      page: Math.max(0, Math.round(box.getBoundingClientRect().bottom - window.innerHeight)),
    }));
  /** Waits until the last line is this far from the visible end, in pixels. */
  const scrolled = async (page: Page, from: number, below: number): Promise<void> => {
    await page.waitForFunction(
      ([least, most]) => {
        const box = document.querySelector('.try-printed');
        const rest = box === null ? NaN : box.scrollHeight - box.scrollTop - box.clientHeight;
        return rest >= least && rest < most;
      },
      [from, below] as const,
    );
    await frame(page);
  };
  const IN_SIGHT = { lines: 0, page: 0 };

  for (const [name, width] of [
    ['next to the form', 1100],
    ['under a form that fills the window', 400],
  ] as const) {
    it(`shows its newest lines: ${name}`, async () => {
      const page = await running(width);
      await print(page, 1, 3);
      assert.deepEqual(await hidden(page), IN_SIGHT);
      await print(page, 4, 12);
      await print(page, 13, 80);
      assert.deepEqual(await hidden(page), IN_SIGHT);
      await page.close();
    });
  }

  it('keeps the scroll position until the reader is at the end again', async () => {
    const page = await running(1100);
    await print(page, 1, 80);
    await printed(page).hover();
    await page.mouse.wheel(0, -400);
    await scrolled(page, 300, Infinity);
    const top = await printed(page).evaluate((box) => box.scrollTop);
    await print(page, 81, 90);
    assert.equal(await printed(page).evaluate((box) => box.scrollTop), top);
    await page.mouse.wheel(0, 10_000);
    await scrolled(page, -Infinity, 2);
    await print(page, 91, 120);
    assert.deepEqual(await hidden(page), IN_SIGHT);
    await page.close();
  });

  it('leaves readers in the form who went back to it', async () => {
    const page = await running(400);
    await print(page, 1, 3);
    await page.locator('.try-page').evaluate((main) => {
      main.scrollTop = 0;
    });
    await frame(page);
    await print(page, 4, 30);
    assert.equal(await page.locator('.try-page').evaluate((main) => main.scrollTop), 0);
    await page.close();
  });

  it('stays after a cancelled call, with its last lines visible, and after a call that could not be made', async () => {
    const page = await running(1100);
    await print(page, 1, 80);
    await postMessages(
      page,
      { type: 'output', text: 'rollout: interrupted' },
      { type: 'noResult', why: 'cancelled', text: 'Cancelled.' },
    );
    await page.getByRole('region', { name: 'Printed', exact: true }).waitFor();
    assert.equal((await printed(page).innerText()).trim().split('\n').at(-1), 'line 80');
    assert.equal((await hidden(page)).lines, 0);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await print(page, 1, 2);
    await postMessages(
      page,
      { type: 'output', text: 'rollout: There is no library.' },
      { type: 'noResult', why: 'failed', text: 'There is no library.' },
    );
    await page.getByRole('region', { name: 'Printed', exact: true }).waitFor();
    assert.deepEqual(
      [(await printed(page).innerText()).trim(), await page.locator('.try-failed').innerText()],
      ['line 1\nline 2', 'There is no library.'],
    );
    await page.close();
  });
});
