/**
 * A trajectory of 337,000 events and 127 MB: how soon its first steps are painted after a server has just started, and
 * rows from anywhere once all of it is read: by keys, and by dragging the scrollbar of the list; how soon a link to a
 * distant step shows it, and whether it stays in place while the rest arrives. The baseline is the same data over HTTP,
 * parsed and discarded.
 */
import type { Page } from 'playwright-core';
import { Random } from '../../support/random.ts';
import { type TestServer, TestStore } from '../../support/rolloutServer.ts';
import { importedAndPacked, LONG_STEPS, longTrajectory } from '../support/longTrajectory.ts';
import { median, rounds, spread, table } from '../support/table.ts';
import {
  addressOf,
  BenchWindow,
  longestTask,
  opened,
  painted,
  press,
  reacted,
  servePages,
  taskText,
} from './support/benchWindow.ts';

const JUMPS = 25;

function steps(): boolean {
  return document.querySelectorAll('.step-row.is-step').length > 8;
}

function shows(step: number): string {
  return (
    `() => [...document.querySelectorAll('.step-row.is-step .step-number')].some((row) => row.textContent === ` +
    `'${step}')`
  );
}

/** The footer counts events while they arrive. */
function whole(): boolean {
  const foot = document.querySelector('.page-foot')?.textContent;
  return foot !== undefined && !foot.includes(' of ');
}

/** Like dragging the scrollbar's thumb: sets the scroll position. */
function drag(share: number): string {
  return (
    `() => { const list = document.querySelector('.steps-list .virtual-list'); window.target = ` +
    `Math.round((list.scrollHeight - list.clientHeight) * ${share}); list.scrollTop = window.target; }`
  );
}

/** The list shows rows at its scroll position. */
function filled(): boolean {
  const list = document.querySelector('.steps-list .virtual-list');
  if (list === null) return false;
  const { top, bottom } = list.getBoundingClientRect();
  const seen = [...list.querySelectorAll('.list-row')].filter((row) => {
    const box = row.getBoundingClientRect();
    return box.bottom > top && box.top < bottom && row.querySelector('.step-icon') !== null;
  });
  return seen.length >= Math.floor((bottom - top) / 22) - 1;
}

/** The position of the selected row on the screen. */
const place = "() => document.querySelector('.steps-list [aria-selected=true]').getBoundingClientRect().top";

async function httpMs(server: TestServer, rollout: string): Promise<number> {
  const began = performance.now();
  let count = 0;
  for await (const page of server.api.allEvents(rollout)) count += page.length;
  if (count !== events.length) throw new Error(`${count} events came`);
  return performance.now() - began;
}

const { events, bytes } = longTrajectory();
await using store = new TestStore();
const rollout = await importedAndPacked(store, events);
await using browser = await BenchWindow.open();
const random = new Random(3);
const times = {
  http: [] as number[],
  first: [] as number[],
  link: [] as number[],
  all: [] as number[],
  reading: [] as number[],
  busy: [] as number[],
  moved: [] as number[],
  keys: [] as number[],
  drags: [] as number[],
  heap: [] as number[],
};
for (let round = 0; round < rounds(2); round++) {
  let server = await servePages(store);
  {
    await using page = await browser.page();
    const busy = await busyFrom(page);
    times.first.push(await opened(page, addressOf(server, { page: 'trajectory', rollout }), steps));
    times.all.push(await painted(page, whole));
    times.reading.push(await longestTask(page));
    times.busy.push(await busy());
    times.heap.push(await heap(page));
    for (let jump = 0; jump < JUMPS; jump++) {
      times.keys.push(
        await reacted(page, press('Home'), shows(1)),
        await reacted(page, press('End'), shows(LONG_STEPS)),
      );
      times.drags.push(await reacted(page, drag(random.next()), filled));
    }
  }
  times.http.push(await httpMs(server, rollout));
  await server.kill('SIGTERM');
  server = await servePages(store);
  {
    await using page = await browser.page();
    const step = Math.floor(LONG_STEPS * 0.9);
    times.link.push(await opened(page, addressOf(server, { page: 'trajectory', rollout, step }), shows(step)));
    const was = await page.evaluate<number>(`(${place})()`);
    await painted(page, whole);
    times.moved.push(Math.abs((await page.evaluate<number>(`(${place})()`)) - was));
  }
  await server.kill('SIGTERM');
}

async function heap(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize / 1e6;
}

/** Reports how long the page's thread was busy since. */
async function busyFrom(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1_000;
  };
}

console.log(
  table(
    [
      ['what', 'min / median / max', 'of the baseline'],
      ['baseline: all of it over HTTP, parsed, ms', spread(times.http, 0), '1.00'],
      [
        'first steps painted, server just started, ms',
        spread(times.first, 0),
        (median(times.first) / median(times.http)).toFixed(3),
      ],
      [
        'a link to a step at nine tenths, ms',
        spread(times.link, 0),
        (median(times.link) / median(times.http)).toFixed(2),
      ],
      ['its row moved while the rest came, pixels', spread(times.moved, 0), ''],
      ['all of it read, ms', spread(times.all, 0), (median(times.all) / median(times.http)).toFixed(2)],
      ['longest task of the page while it reads, ms', taskText(times.reading), ''],
      [
        'the page’s thread taken until then, ms',
        spread(times.busy, 0),
        (median(times.busy) / median(times.http)).toFixed(2),
      ],
      [
        'heap of the page then, MB',
        spread(times.heap, 0),
        (median(times.heap) / (bytes / 1e6)).toFixed(2) + ' of the data',
      ],
      ['Home and End, ms', spread(times.keys, 0), ''],
      ['scrollbar to anywhere, ms', spread(times.drags, 0), ''],
    ],
    [1, 2],
  ),
);
console.log(
  `${events.length} events, ${(bytes / 1e6).toFixed(0)} MB. Bound: first steps ≤ 1,000 ms, from anywhere ≤ 100 ms.`,
);
