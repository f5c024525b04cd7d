// Every story in the four themes, in a real browser: it renders, it is accessible, nothing overflows, nothing is
// blocked.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import { root } from '../../src/build/bundles.ts';
import { launchBrowser, type Served } from './support/browser.ts';
import { serveStories } from './support/stories.ts';

const out = path.join(root, 'test/.out/webview');
const axeSource = readFileSync(path.join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');
/** A window of this width, in which themes are selected one after the other. */
interface Look {
  readonly name: string;
  readonly width: number;
  readonly themes: readonly string[];
}

const LOOKS: readonly Look[] = [
  { name: 'in four themes', width: 1200, themes: ['dark', 'light', 'hc', 'hc-light'] },
  { name: 'narrow', width: 400, themes: ['dark'] },
];
/** Every second story, beginning with this one: two pages are checked in parallel. */
const HALVES = [0, 1];
/** What another theme can change. */
const COLOURS = ['color-contrast'];
/** Of a page; a single component has none. */
const PAGE_RULES = ['page-has-heading-one', 'landmark-one-main'];
const violations = z.array(
  z.object({
    id: z.string(),
    help: z.string(),
    nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })),
  }),
);
/** `STORIES=batch` draws only those of one part, `STORIES=batch/ha` those whose names begin with this. */
const part = process.env['STORIES'];

let served: Served;
let browser: Browser;
let names: readonly string[] = [];

before(
  async () => {
    served = await serveStories(out);
    browser = await launchBrowser();
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

describe('stories', { timeout: 1_150_000, concurrency: HALVES.length }, () => {
  for (const [look, half] of LOOKS.flatMap((each) => HALVES.map((first) => [each, first] as const))) {
    it(`render, are accessible, and fit: ${look.name}, half ${half + 1}`, { timeout: 1_100_000 }, async () => {
      const context = await browser.newContext({
        viewport: { width: look.width, height: 800 },
        reducedMotion: 'reduce',
        bypassCSP: false,
      });
      const page = await context.newPage();
      const troubles: string[] = [];
      let story = '';
      page.on('console', (message) => {
        if (message.type() === 'error') troubles.push(`${story}: console: ${message.text()}`);
      });
      page.on('pageerror', (error) => troubles.push(`${story}: ${error.message}`));
      await page.goto(served.url);
      await page.evaluate(axeSource);
      assert.ok(names.length > 0, 'there are stories');
      for (const [index, name] of names.entries()) {
        story = name;
        if (index % HALVES.length === half) troubles.push(...(await lookAt(page, story, look)));
      }
      await context.close();
      assert.deepEqual(troubles, []);
    });
  }
});

async function lookAt(page: Page, story: string, { width, themes }: Look): Promise<string[]> {
  const troubles: string[] = [];
  for (const [index, theme] of themes.entries()) {
    if (index === 0) await page.evaluate(`globalThis.stories.show(${JSON.stringify(story)}, ${JSON.stringify(theme)})`);
    else await page.evaluate(`globalThis.stories.theme(${JSON.stringify(theme)})`);
    await page.screenshot({
      path: path.join(out, `${story.replace('/', '-')}-${width < 600 ? 'narrow' : theme}.png`),
      timeout: 60_000,
    });
    const found = [...(await misfits(page)), ...(await inaccessible(page, story, index === 0 ? undefined : COLOURS))];
    troubles.push(...found.map((trouble) => `${story}: ${theme}: ${trouble}`));
  }
  return troubles;
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

/** `rules`: the axe rules to check; default: all. */
async function inaccessible(page: Page, story: string, rules?: readonly string[]): Promise<string[]> {
  const off = story.startsWith('components/') ? PAGE_RULES : [];
  const found = violations.parse(
    await page.evaluate(
      `(${AXE})(${JSON.stringify(off)}, ${rules === undefined ? 'undefined' : JSON.stringify(rules)})`,
    ),
  );
  return found.map(
    ({ id, help, nodes }) =>
      `axe ${id}: ${help}: ${nodes
        .slice(0, 3)
        .map((node) => node.html.slice(0, 160))
        .join(' | ')} ${nodes[0]?.failureSummary?.slice(0, 300) ?? ''}`,
  );
}

/** `rules`: only these; undefined: all. */
const AXE = `(async (off, rules) => {
  const result = await window.axe.run(document, { resultTypes: ['violations'], ...(rules === undefined ? {} : { \
runOnly: rules }), rules: rules !== undefined ? {} : Object.fromEntries(['region', ...off].map((rule) => [rule, { \
enabled: false }])) });
  return result.violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map(({ html, failureSummary }) => \
({ html, failureSummary })) }));
})`;
