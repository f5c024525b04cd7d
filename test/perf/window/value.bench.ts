/**
 * A tool result of 20 MB, as JSON and as text, selected in the trajectory page: how soon its first rows are painted,
 * and how long the page's thread is busy with that, with scrolling in it, with expanding a part of it, and with a
 * search at the same time. The baseline is a simple page: it parses the value and writes it out with indents, on its
 * own thread.
 */
import type { Page } from 'playwright-core';
import { newId } from '../../../src/common/ids.ts';
import type { Json } from '../../../src/common/json.ts';
import { Random } from '../../support/random.ts';
import { blobOf, type TestServer, TestStore } from '../../support/rolloutServer.ts';
import { Stream } from '../../support/stream.ts';
import { importOne } from '../support/importAttempts.ts';
import { rounds, spread, table } from '../support/table.ts';
import {
  addressOf,
  BenchWindow,
  longestTask,
  opened,
  painted,
  reacted,
  servePages,
  taskText,
} from './support/benchWindow.ts';

const BYTES = 20_000_000;
const JUMPS = 25;

/** Records of about 100 bytes, one of them inside a nested list. */
function records(): string {
  const rows = Array.from({ length: Math.round(BYTES / 108) }, (_, id) => ({
    id,
    title: `Loan ${id} of the lending desk`,
    due: '2026-05-01',
    tags: ['open', 'late'],
    note: 'x'.repeat(20),
  }));
  return JSON.stringify({ total: rows.length, rows });
}

function log(): string {
  const lines: string[] = [];
  for (let bytes = 0, at = 0; bytes < BYTES; at++) {
    const line = `${at} GET /loans/${at} 200 ${'y'.repeat(at % 120)}`;
    lines.push(line);
    bytes += line.length + 1;
  }
  return lines.join('\n');
}

async function withResult(server: TestServer, text: string, media: string): Promise<string> {
  const { sha, bytes } = blobOf(text);
  await server.api.putBlob(sha, bytes);
  const ref: Json = { $blob: sha, bytes: bytes.byteLength, media, head: text.slice(0, 400) };
  const s = new Stream();
  s.start({ batch: newId('b'), task: 't1' });
  s.message('user', 'List all loans.');
  for (let step = 1; step <= 20; step++) {
    s.model('', [{ id: `c${step}`, name: 'list_loans', arguments: { all: true } }]);
    const tool = s.toolStart(`c${step}`, 'list_loans', { all: true });
    s.toolEnd(tool, `c${step}`, step === 1 ? ref : { ok: true });
  }
  s.end();
  return importOne(server, s.events);
}

/** Rows of the value are filled at its scroll position. */
const FILLED = `() => {
  const list = [...document.querySelectorAll('.value-tree .virtual-list, .value-lines .virtual-list')].find((each) => \
each.scrollHeight > each.clientHeight * 2 || each.querySelector('.list-row') !== null && \
each.closest('section').getAttribute('aria-label').startsWith('Result'));
  if (list === undefined) return false;
  const { top, bottom } = list.getBoundingClientRect();
  const seen = [...list.querySelectorAll('.list-row')].filter((row) => { const box = row.getBoundingClientRect(); \
return box.bottom > top && box.top < bottom && row.textContent.trim() !== ''; });
  return seen.length > 0 && seen.length >= Math.min(Math.floor((bottom - top) / 20) - 1, 4);
}`;

const LIST =
  `[...document.querySelectorAll('.value-tree .virtual-list, .value-lines .virtual-list')].sort((a, b) => ` +
  'b.scrollHeight - a.scrollHeight)[0]';
function drag(share: number): string {
  return (
    `() => { const list = ${LIST}; list.scrollTop = Math.round((list.scrollHeight - list.clientHeight) * ` +
    `${share}); }`
  );
}

/** The row of the first step is also that of its call. */
const SELECT = "() => document.querySelector('.step-row.is-step').click()";

function steps(): boolean {
  return document.querySelectorAll('.step-row.is-step').length > 8;
}

/** Expands the first collapsed row of the value that has children. */
const OPEN =
  `() => { window.before = ${LIST}.querySelectorAll('.list-row').length; ` +
  `[...${LIST}.querySelectorAll('[aria-expanded=false]')][0].querySelector('.value-twist').click(); }`;
const GREW =
  `() => ${LIST}.querySelectorAll('.list-row').length > window.before && ` + `!!${LIST}.querySelector('.value-name')`;

/** The search shows its number of results. */
function found(): boolean {
  return /^\d/.test(document.querySelector('.search-count')?.textContent ?? '');
}

interface Times {
  open: number[];
  opening: number[];
  part: number[];
  scroll: number[];
  scrolling: number[];
  searching: number[];
  bare: number[];
}
const none = (): Times => ({ open: [], opening: [], part: [], scroll: [], scrolling: [], searching: [], bare: [] });

async function look(page: Page, url: string, kind: 'json' | 'text', random: Random, times: Times): Promise<void> {
  // The page is at a step after it: the start of the page is not measured.
  await opened(page, url, steps);
  await page.evaluate(() =>
    window.probe.painted(() => document.querySelector('.page-foot')?.textContent.includes(' of ') === false, 60_000),
  );
  // the last of the controls, which appear after the first rows
  await page.evaluate(() => customElements.whenDefined('vscode-checkbox'));
  await longestTask(page);
  times.open.push(await reacted(page, SELECT, FILLED));
  times.opening.push(await longestTask(page));
  if (kind === 'json') times.part.push(await reacted(page, OPEN, GREW));
  for (let jump = 0; jump < JUMPS; jump++) times.scroll.push(await reacted(page, drag(random.next()), FILLED));
  times.scrolling.push(await longestTask(page));
  await page.keyboard.press('/');
  await page.keyboard.insertText('loan');
  await painted(page, found);
  times.searching.push(await longestTask(page));
}

await using store = new TestStore();
const server = await servePages(store);
const values = {
  json: { text: records(), media: 'application/json' },
  text: { text: log(), media: 'text/plain' },
} as const;
await using browser = await BenchWindow.open();
const random = new Random(6);
const results = { json: none(), text: none() };
for (const kind of ['json', 'text'] as const) {
  const { text, media } = values[kind];
  const rollout = await withResult(server, text, media);
  const url = addressOf(server, { page: 'trajectory', rollout, step: 5 });
  for (let round = 0; round < rounds(3); round++) {
    await using page = await browser.page();
    await look(page, url, kind, random, results[kind]);
    results[kind].bare.push(await page.evaluate(bareLook, text));
  }
}

/** On the page's own thread, as simply as possible. */
function bareLook(text: string): number {
  const began = performance.now();
  const lines = text.startsWith('{') ? JSON.stringify(JSON.parse(text), null, 2).split('\n') : text.split('\n');
  return lines.length > 0 ? performance.now() - began : Number.NaN;
}

console.log(
  table(
    [
      ['what, ms (min / median / max)', 'JSON', 'text'],
      ...(
        [
          ['baseline: taken apart on the page’s own thread', 'bare', spread],
          ['first rows painted, from the click on its step', 'open', spread],
          ['longest task until then', 'opening', taskText],
          ['a part of it opened', 'part', spread],
          ['scrolled to anywhere', 'scroll', spread],
          ['longest task while scrolling', 'scrolling', taskText],
          ['longest task of a search of the trajectory', 'searching', taskText],
        ] as const
      ).map(([name, key, text]) => [
        name,
        ...(['json', 'text'] as const).map((kind) =>
          results[kind][key].length === 0 ? '' : text(results[kind][key], 0),
        ),
      ]),
    ],
    [1, 2],
  ),
);
console.log(`${(BYTES / 1e6).toFixed(0)} MB. Bound: no task of more than 50 ms.`);
