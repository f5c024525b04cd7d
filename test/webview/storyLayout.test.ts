// Every story in low windows, from a page next to code to a whole window: all text can be read.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { z } from 'zod';
import { root } from '../../src/build/bundles.ts';
import { launchBrowser, type Served } from './support/browser.ts';
import { serveStories } from './support/stories.ts';
import { unreadable } from './support/unreadable.ts';

const out = path.join(root, 'test/.out/webview-layout');
/** A whole window, three quarters, half of it, and a page next to code; in pixels. */
const WIDTHS = [1388, 1045, 700, 440];
const WIDEST = 1388;
const HEIGHT = 600;
/** Every second story, beginning with this one: two pages are checked in parallel. */
const HALVES = [0, 1];
/** `STORIES=batch` checks only the stories whose names begin with this. */
const part = process.env['STORIES'] ?? '';

let served: Served;
let browser: Browser;
before(
  async () => {
    [served, browser] = await Promise.all([serveStories(out), launchBrowser()]);
  },
  { timeout: 180_000 },
);
after(async () => {
  await browser.close();
  await served.close();
});

describe('text', { timeout: 1_150_000, concurrency: HALVES.length }, () => {
  for (const half of HALVES) {
    it(`is neither cut off nor drawn over: half ${half + 1} of the stories`, async () => {
      const page = await browser.newPage({ viewport: { width: WIDEST, height: HEIGHT }, reducedMotion: 'reduce' });
      await page.goto(served.url);
      await page.waitForFunction('globalThis.stories !== undefined', undefined, { timeout: 60_000 });
      const all = z.array(z.string()).parse(await page.evaluate('globalThis.stories.ids'));
      const found: string[] = [];
      for (const story of all.filter((name, index) => name.startsWith(part) && index % HALVES.length === half)) {
        await page.setViewportSize({ width: WIDEST, height: HEIGHT });
        await page.evaluate(`globalThis.stories.show(${JSON.stringify(story)}, 'dark')`);
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: HEIGHT });
          await page.evaluate('globalThis.stories.resized()');
          const lines = await unreadable(page);
          found.push(...lines.map((line) => `${story} at ${width}: ${line}`));
          if (lines.length > 0)
            await page.screenshot({ path: path.join(out, `${story.replace('/', '-')}-${width}.png`) });
        }
      }
      await page.close();
      assert.deepEqual(found, []);
    });
  }
});
