// Every story in a real browser, opened in a wide and in a narrow window: it renders, nothing is blocked, it is
// accessible in its themes, nothing overflows, and in low windows of some widths all text can be read and no button is
// cut off. The long test has all themes and widths; the other gives each story its share of them, in turns.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import { root } from '../../src/build/bundles.ts';
import { inaccessible, loadAxe, lowContrast } from './support/accessible.ts';
import { FOR_LONG_COMPUTATIONS, launchBrowser, type Served } from './support/browser.ts';
import { serveStories } from './support/stories.ts';
import { unreadable } from './support/unreadable.ts';

const out = path.join(root, 'test/.out/webview');
/** A window in which each story is opened. */
interface Look {
  readonly name: string;
  readonly width: number;
  /** They are selected one after the other. */
  readonly themes: readonly string[];
  /** Widths of low windows: the opened story is resized to each, and its text and buttons are checked. */
  readonly lowWidths: readonly number[];
}

const LOOKS: readonly Look[] = [
  {
    name: 'wide',
    width: 1200,
    themes: ['light', 'hc', 'hc-light', 'dark'],
    // A whole window, a smaller one (whose detail pane has its narrowest columns), three quarters of it, the whole one
    // at 150 %, half of it, and a page next to code.
    lowWidths: [1388, 1280, 1045, 925, 700, 440],
  },
  { name: 'narrow', width: 400, themes: ['dark'], lowWidths: [] },
];
/** How many themes and low widths of a look each story gets, unless it gets all. */
const SHARE = { themes: 2, lowWidths: 2 };
const HEIGHT = 800;
const LOW_HEIGHT = 600;
/** Number of pages at once: more than processors, because a page often waits until its story is quiet. */
const PAGES = 3;
/**
 * `STORIES=batch` checks only those of one part, `STORIES=batch/ha` those whose names begin with this, and takes a
 * picture of each. Otherwise, there are only pictures of stories with a finding.
 */
const part = process.env['STORIES'];

let served: Served;
let browser: Browser;
let names: readonly string[] = [];

before(
  async () => {
    [served, browser] = await Promise.all([serveStories(), launchBrowser(FOR_LONG_COMPUTATIONS)]);
    const page = await browser.newPage();
    await page.goto(served.url);
    await page.waitForFunction('globalThis.stories !== undefined', undefined, { timeout: 60_000 });
    names = z
      .array(z.string())
      .parse(await page.evaluate('globalThis.stories.ids'))
      .filter((name) => part === undefined || name.startsWith(part));
    await page.close();
  },
  { timeout: 180_000 },
);

after(async () => {
  await browser.close();
  await served.close();
});

describe('stories', { timeout: 1_150_000 }, () => {
  it('render, are accessible, fit, and can be read', { timeout: 1_100_000, skip: part !== undefined }, () =>
    lookAtAll((index) => LOOKS.map((look) => shareOf(look, index))),
  );

  it('do so in all themes and widths @deep', { timeout: 1_100_000 }, () => lookAtAll(() => LOOKS));
});

/** The themes and widths of the story at an index. */
function shareOf(look: Look, index: number): Look {
  const turn = <T>(all: readonly T[], size: number): T[] => {
    const start = (index * size) % Math.max(1, all.length);
    return [...all, ...all].slice(start, start + Math.min(size, all.length));
  };
  return { ...look, themes: turn(look.themes, SHARE.themes), lowWidths: turn(look.lowWidths, SHARE.lowWidths) };
}

async function lookAtAll(looksOf: (index: number) => readonly Look[]): Promise<void> {
  assert.ok(names.length > 0, 'there are stories');
  const queue = names.entries();
  const troubles = await Promise.all(Array.from({ length: PAGES }, () => lookAtThose(queue, looksOf)));
  assert.deepEqual(troubles.flat(), []);
}

/** Looks at the stories of a queue in a page of its own. */
async function lookAtThose(
  queue: Iterable<[number, string]>,
  looksOf: (index: number) => readonly Look[],
): Promise<string[]> {
  const troubles: string[] = [];
  const context = await browser.newContext({ reducedMotion: 'reduce', bypassCSP: false });
  const page = await context.newPage();
  let at = '';
  page.on('console', (message) => {
    if (message.type() === 'error') troubles.push(`${at}: console: ${message.text()}`);
  });
  page.on('pageerror', (error) => troubles.push(`${at}: ${error.message}`));
  await page.goto(served.url);
  await loadAxe(page);
  for (const [index, story] of queue) {
    for (const look of looksOf(index)) {
      at = `${story}: ${look.name}`;
      try {
        troubles.push(...(await lookAt(page, story, look)).map((trouble) => `${at}: ${trouble}`));
      } catch (error) {
        troubles.push(`${at}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
  await context.close();
  return troubles;
}

async function lookAt(page: Page, story: string, { name, width, themes, lowWidths }: Look): Promise<string[]> {
  const kind = story.startsWith('components/') ? 'component' : 'page';
  const troubles: string[] = [];
  await page.setViewportSize({ width, height: HEIGHT });
  for (const [index, theme] of themes.entries()) {
    if (index === 0) await page.evaluate(`globalThis.stories.show(${JSON.stringify(story)}, ${JSON.stringify(theme)})`);
    else await page.evaluate(`globalThis.stories.theme(${JSON.stringify(theme)})`);
    const found = [...(await misfits(page)), ...(await lowContrast(page, index === 0))];
    if (index === 0) found.push(...(await inaccessible(page, kind)));
    await picture(page, `${story}-${name}-${theme}`, found);
    troubles.push(...found.map((trouble) => `${theme}: ${trouble}`));
  }
  for (const low of lowWidths) {
    await page.setViewportSize({ width: low, height: LOW_HEIGHT });
    await page.evaluate('globalThis.stories.resized()');
    const found = await unreadable(page);
    await picture(page, `${story}-${low}`, found);
    troubles.push(...found.map((trouble) => `at ${low}: ${trouble}`));
  }
  return troubles;
}

async function picture(page: Page, name: string, found: readonly string[]): Promise<void> {
  if (part === undefined && found.length === 0) return;
  await page.screenshot({ path: path.join(out, `${name.replace('/', '-')}.png`), timeout: 60_000 });
}

async function misfits(page: Page): Promise<string[]> {
  const { drawn, wide, past } = await page.evaluate(() => {
    const parts = [...document.querySelectorAll('#page > *')];
    const rights = parts.map((part) => Math.round(part.getBoundingClientRect().right - window.innerWidth));
    return {
      drawn: parts.length,
      wide: document.documentElement.scrollWidth - window.innerWidth,
      past: Math.max(0, ...rights),
    };
  });
  return [
    ...(drawn === 0 ? ['draws nothing'] : []),
    ...(past > 0 ? [`ends ${past} px beyond the window`] : []),
    ...(wide > 0 ? [`${wide} px too wide`] : []),
  ];
}
