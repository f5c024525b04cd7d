/**
 * How soon a page shows its content: from navigation to the first rows painted, in a browser without a cache and in one
 * with its script in the cache; and moving to the next and the previous attempt, from the key press to the other one's
 * steps. The baseline is a page that fetches the same program and runs none of it.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { importBatch } from '../../support/finishedBatch.ts';
import { TestStore } from '../../support/rolloutServer.ts';
import { median, rounds, spread, table } from '../support/table.ts';
import { addressOf, BenchWindow, opened, PAGES, painted, press, reacted, servePages } from './support/benchWindow.ts';

const SHAPE = { tasks: 100, attempts: 32, steps: 20 };
const MOVES = 10;

/**
 * The grid's names are drawn, and marks of attempts with them: at first in the document's skeleton, before the program
 * is loaded.
 */
function grid(): boolean {
  return window.probe.drawn(document.querySelector('.batch-grid canvas')).some(({ text }) => text === 't5');
}

/** The page's own grid is drawn. */
function usable(): boolean {
  return (
    document.querySelector('.skeleton') === null && document.querySelector('.batch-page .batch-grid canvas') !== null
  );
}

function steps(): boolean {
  return document.querySelectorAll('.step-row.is-step').length > 8;
}

function text(): boolean {
  return document.querySelector('#page')?.textContent === 'ready';
}

/** Whether the steps of this attempt are visible, according to their first message. */
function shows(attempt: number): string {
  return (
    `() => [...document.querySelectorAll('.step-row.is-message .step-text')].some((row) => ` +
    `row.textContent.endsWith('in its attempt ${attempt}.')) && ` +
    `document.querySelectorAll('.step-row.is-step').length > 8`
  );
}

/**
 * The page's styles and all files of its program, fetched and not run, and a page that shows a word when it has them.
 */
async function bare(): Promise<{ readonly url: string; close(): void }> {
  const page = (name: string): string => readFileSync(path.join(PAGES, name), 'utf8');
  const program = [...new Set([...page('start.js').matchAll(/"(\.\/[\w-]+\.js)"/g)].map((match) => match[1] ?? ''))];
  const script = `const fetched = ${JSON.stringify(program)}.map((href) => new Promise((resolve) => {
    const link = Object.assign(document.createElement('link'), { rel: 'modulepreload', href, onload: resolve });
    document.head.append(link);
  }));
  Promise.all(fetched).then(() => { document.querySelector('#page').textContent = 'ready'; });`;
  const media = 'text/javascript; charset=utf-8';
  const files: Readonly<Record<string, readonly [string, string]>> = {
    '/': [
      'text/html; charset=utf-8',
      '<!DOCTYPE html><title>bare</title><link rel="stylesheet" href="page.css"><body><div ' +
        'id="page"></div><script type="module" src="bare.js"></script>',
    ],
    '/bare.js': [media, script],
    '/page.css': ['text/css; charset=utf-8', page('page.css')],
    ...Object.fromEntries(program.map((name) => [name.slice(1), [media, page(name)] as const])),
  };
  const server = createServer((request, response) => {
    const [type, body] = files[request.url ?? ''] ?? ['text/plain', ''];
    response.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() };
}

/** The browser's own first contentful paint: here, that of the skeleton. */
function contentful(page: Page): Promise<number> {
  return page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN);
}

await using store = new TestStore();
const server = await servePages(store);
const { batch, rollouts } = await importBatch(server, SHAPE);
await using browser = await BenchWindow.open();
const baseline = await bare();
const urls = {
  bare: [baseline.url, text],
  batch: [addressOf(server, { page: 'batch', batch }), grid],
  trajectory: [addressOf(server, { page: 'trajectory', rollout: rollouts[0] ?? '' }), steps],
} as const;
const first = { bare: [] as number[], batch: [] as number[], trajectory: [] as number[] };
const again = { bare: [] as number[], batch: [] as number[], trajectory: [] as number[] };
const paints = { bare: [] as number[], batch: [] as number[], trajectory: [] as number[] };
const usableAfter: number[] = [];
const moves: number[] = [];
for (let round = 0; round < rounds(7); round++) {
  for (const kind of ['bare', 'batch', 'trajectory'] as const) {
    const [url, holds] = urls[kind];
    const context = await browser.context();
    const page = await context.newPage();
    first[kind].push(await opened(page, url, holds));
    if (kind === 'batch') usableAfter.push(await painted(page, usable));
    paints[kind].push(await contentful(page));
    // A script is cached compiled from its second use on.
    for (let more = 0; more < 2; more++) {
      await page.goto('about:blank');
      const ms = await opened(page, url, holds);
      if (more === 1) again[kind].push(ms);
    }
    if (kind === 'trajectory') {
      for (let move = 0; move < MOVES; move++) moves.push(await reacted(page, press(']'), shows(move + 2)));
      for (let move = MOVES; move > 0; move--) moves.push(await reacted(page, press('['), shows(move)));
    }
    await context.close();
  }
}
baseline.close();
const row = (name: string, of: Readonly<Record<'bare' | 'batch' | 'trajectory', readonly number[]>>): string[][] =>
  (['bare', 'batch', 'trajectory'] as const).map((kind) => [
    `${name}: ` +
      { bare: 'baseline, the same program not run', batch: 'batch page', trajectory: 'trajectory page' }[kind],
    spread(of[kind], 0),
    (median(of[kind]) / median(of.bare)).toFixed(2),
  ]);
console.log(
  table(
    [
      ['what', 'ms (min / median / max)', 'of the baseline'],
      ...row('first visit', first),
      [
        'first visit: batch page, until it may be used',
        spread(usableAfter, 0),
        (median(usableAfter) / median(first.bare)).toFixed(2),
      ],
      ...row('again, script kept', again),
      ['first contentful paint as the browser has it: batch page', spread(paints.batch, 0), ''],
      ['first contentful paint as the browser has it: trajectory page', spread(paints.trajectory, 0), ''],
      ['next and previous attempt', spread(moves, 0), ''],
    ],
    [1, 2],
  ),
);
console.log(
  `${SHAPE.tasks} tasks x ${SHAPE.attempts} attempts of ${SHAPE.steps} steps. Bound: 150 ms to the first rows, ` +
    '150 ms to another attempt.',
);
