/**
 * A batch of 200,000 ended attempts: how soon its first rows are painted, how long the page's thread is busy while it
 * reads the rest, and rows from anywhere in the grid. The baseline is the batch's first page over HTTP.
 */

import { importBatch } from '../../support/finishedBatch.ts';
import { Random } from '../../support/random.ts';
import { TestStore } from '../../support/rolloutServer.ts';
import { median, rounds, spread, table } from '../support/table.ts';
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

const SHAPE = { tasks: 6_250, attempts: 32, steps: 1 };
const JUMPS = 25;

/** Names of the first tasks, and marks of attempts that ended. */
function rows(): boolean {
  const drawn = window.probe.drawn(document.querySelector('.batch-grid canvas'));
  return drawn.some(({ text }) => text === 't2') && drawn.some(({ text }) => /^\/[1-9]/.test(text));
}

/** The page itself shows them and is usable: its program has run. */
function usable(): boolean {
  return (
    document.querySelector('.skeleton') === null && document.querySelector('.batch-page .batch-grid canvas') !== null
  );
}

/** All rows have arrived: none are queued or missing anymore. */
function whole(): boolean {
  return document.querySelector('.batch-page')?.getAttribute('aria-busy') === 'false';
}

function drag(share: number): string {
  return (
    `() => { const at = document.querySelector('.batch-grid-scroller'); at.scrollTop = Math.round((at.scrollHeight ` +
    `- at.clientHeight) * ${share}); }`
  );
}

/** The canvas shows the row at the scroll position. */
function there(): boolean {
  const at = document.querySelector('.batch-grid-scroller');
  if (at === null) return false;
  const first = Math.ceil(at.scrollTop / 22) + 2;
  return window.probe.drawn(document.querySelector('.batch-grid canvas')).some(({ text }) => text === `t${first}`);
}

await using store = new TestStore();
let server = await servePages(store);
const began = performance.now();
const { batch } = await importBatch(server, SHAPE);
console.error(`imported in ${((performance.now() - began) / 1000).toFixed(0)} s`);
await server.kill('SIGTERM');
await using browser = await BenchWindow.open();
const random = new Random(4);
const times = {
  http: [] as number[],
  first: [] as number[],
  usable: [] as number[],
  all: [] as number[],
  early: [] as number[],
  reading: [] as number[],
  drags: [] as number[],
  scrolling: [] as number[],
};
for (let round = 0; round < rounds(3); round++) {
  server = await servePages(store);
  const requested = performance.now();
  await (await server.fetch(`/v1/batches/${batch}/rollouts?limit=500`)).arrayBuffer();
  times.http.push(performance.now() - requested);
  await using page = await browser.page();
  times.first.push(await opened(page, addressOf(server, { page: 'batch', batch }), rows));
  times.usable.push(await painted(page, usable));
  times.early.push(await longestTask(page));
  times.all.push(await painted(page, whole));
  times.reading.push(await longestTask(page));
  for (let jump = 0; jump < JUMPS; jump++) times.drags.push(await reacted(page, drag(random.next()), there));
  times.scrolling.push(await longestTask(page));
  await server.kill('SIGTERM');
}
console.log(
  table(
    [
      ['what', 'ms (min / median / max)', 'of the baseline'],
      ['baseline: first 500 rows over HTTP, server just started', spread(times.http, 0), '1.0'],
      ['first rows painted', spread(times.first, 0), (median(times.first) / median(times.http)).toFixed(1)],
      ['the page may be used', spread(times.usable, 0), (median(times.usable) / median(times.http)).toFixed(1)],
      ['longest task until then', taskText(times.early), ''],
      ['all rows read', spread(times.all, 0), (median(times.all) / median(times.http)).toFixed(1)],
      ['longest task while they come', taskText(times.reading), ''],
      ['scrollbar to anywhere', spread(times.drags, 0), ''],
      ['longest task while dragging', taskText(times.scrolling), ''],
    ],
    [1, 2],
  ),
);
console.log(
  `${SHAPE.tasks * SHAPE.attempts} attempts. Bound: first rows ≤ 300 ms, anywhere ≤ 100 ms, no task of more than ` +
    '50 ms.',
);
