/** Stories that a test uses as a user would: served and opened once per test file. */
import { after, before } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser, type Served } from './browser.ts';
import { serveStories } from './stories.ts';

/** Shows a story, acts on it, and closes its page. */
export type OnStory = (story: string, act: (page: Page) => Promise<void>) => Promise<void>;

/** Call it once in a file. `part`: the part of the stories, e.g. `compare`. */
export function storyPages(part: string): OnStory {
  let served: Served;
  let browser: Browser;
  before(
    async () => {
      [served, browser] = await Promise.all([serveStories(), launchBrowser()]);
    },
    { timeout: 180_000 },
  );
  after(async () => {
    await browser.close();
    await served.close();
  });
  return async (story, act) => {
    const page = await browser.newPage({ viewport: { width: 1200, height: 800 }, reducedMotion: 'reduce' });
    page.setDefaultTimeout(30_000);
    await page.goto(served.url);
    await page.evaluate(`globalThis.stories.show('${part}/${story}', 'dark')`);
    await act(page);
    await page.close();
  };
}
