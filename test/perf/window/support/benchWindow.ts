/** A window for benchmarks: Chromium on the pages that a real server serves, with a probe in each. */

import path from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { root } from '../../../../src/build/bundles.ts';
import type { PagePlace } from '../../../../src/protocol/page.ts';
import { viewUrl } from '../../../../src/protocol/viewLink.ts';
import type { TestServer, TestStore } from '../../../support/rolloutServer.ts';
import { launchBrowser } from '../../../webview/support/browser.ts';
import { installProbe } from './probe.ts';

/** The last bundle: `npm run bench` bundles changes first. */
export const PAGES = path.join(root, 'dist', 'webview');
/** Long enough for a busy machine. */
const LIMIT_MS = 300_000;

/** A server with the pages and without workers. */
export function servePages(store: TestStore): Promise<TestServer> {
  return store.start(['--executor', 'none', '--pages', PAGES]);
}

/** What `rollout view` prints. */
export function addressOf(server: TestServer, place: PagePlace): string {
  return viewUrl({ url: server.url, token: server.file.read_token }, place, false);
}

export class BenchWindow {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async open(): Promise<BenchWindow> {
    return new BenchWindow(await launchBrowser());
  }

  /** A separate cache, and pages with the probe in them. */
  async context(height = 900): Promise<BrowserContext> {
    const context = await this.#browser.newContext({ viewport: { width: 1400, height } });
    context.setDefaultTimeout(LIMIT_MS);
    await context.addInitScript(installProbe);
    return context;
  }

  /** A page in its own context, which is closed with it. */
  async page(height?: number): Promise<Page & AsyncDisposable> {
    const context = await this.context(height);
    const page = await context.newPage();
    page.on('pageerror', (error) => console.error(String(error)));
    return Object.assign(page, { [Symbol.asyncDispose]: () => context.close() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

/** Code that runs in the page: a function without references to the outside, or its text. */
export type InPage<T> = (() => T) | string;

/** Milliseconds from the page's navigation until `holds` is painted. */
export async function opened(page: Page, url: string, holds: InPage<boolean>): Promise<number> {
  await page.goto(url, { waitUntil: 'commit' });
  return painted(page, holds);
}

/** The page's clock at the first frame for which `holds` is true. */
export function painted(page: Page, holds: InPage<boolean>): Promise<number> {
  return page.evaluate<number>(`window.probe.painted(${String(holds)}, ${LIMIT_MS})`);
}

/** Milliseconds from `act` until `holds` is painted. */
export function reacted(page: Page, act: InPage<void>, holds: InPage<boolean>): Promise<number> {
  return page.evaluate<number>(
    `(async () => { const began = performance.now(); (${String(act)})(); return (await ` +
      `window.probe.painted(${String(holds)}, ${LIMIT_MS})) - began; })()`,
  );
}

/** Code that presses a key in the page. */
export function press(key: string, shift = false): string {
  return (
    `() => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', shiftKey: ${shift}, ` +
    'bubbles: true, cancelable: true }))'
  );
}

export function longestTask(page: Page): Promise<number> {
  return page.evaluate(() => window.probe.longest());
}

/** Long tasks are those of 50 ms and more; shorter ones are not reported. */
export function taskText(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  return [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
    .map((ms) => (ms === undefined || ms === 0 ? '< 50' : ms.toFixed(0)))
    .join(' / ');
}
