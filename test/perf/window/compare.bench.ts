/**
 * 32 attempts of 60 steps, compared: how soon both columns are painted, from the page's navigation and from the data
 * alone, how soon the flow of all attempts is, and how long the page's thread is busy with that, with scrolling through
 * both columns with all equal steps expanded, and with scrolling through all attempts side by side. The baseline is the
 * same events over HTTP, parsed and discarded.
 */
import type { Page } from 'playwright-core';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { Random } from '../../support/random.ts';
import { TestStore } from '../../support/rolloutServer.ts';
import { Stream } from '../../support/stream.ts';
import { importAttempts } from '../support/importAttempts.ts';
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

const ATTEMPTS = 32;
const STEPS = 60;
const SCROLLS = 40;
const BOUND_MS = 300;
const BOUND_TASK_MS = 50;

/** An attempt that follows the plan at first, and later with detours. It passes if it renews for 14 days. */
function attempt(batch: string, number: number, random: Random): TraceEvent[] {
  const s = new Stream();
  const passed = number % 3 !== 0;
  s.start({ batch, task: 't1', attempt: number });
  s.message('user', 'Renew everything overdue for Ada.');
  for (let step = 1; step < STEPS; step++) {
    const planned = step < 20 || random.next() < 0.8;
    const name = step === 20 ? 'renew_loan' : `tool_${planned ? step % 12 : Math.floor(random.next() * 12)}`;
    const args = {
      loan_id: planned ? step : Math.floor(random.next() * 50),
      days: step === 20 && !passed ? 7 : 14,
      note: 'as requested by the member at the desk',
    };
    s.model('So on and so on.', [{ id: `c${step}`, name, arguments: args }]);
    const result = { ok: true, due: '2026-05-15', of: step, by: Math.floor(random.next() * 3), text: 'x'.repeat(300) };
    s.toolEnd(s.toolStart(`c${step}`, name, args), `c${step}`, result);
  }
  s.model(`All renewed by attempt ${number}.`);
  s.add('score', { scorer: 'world', value: passed ? 1 : 0, passed });
  s.end({ passed, reward: passed ? 1 : 0 });
  return s.events;
}

/** Both columns of a new page show steps, and the flow of all attempts is there. */
const newTwo = "() => document.querySelectorAll('.two-view:not([data-old]) .two-row').length > 4";
const newFlow =
  "() => document.querySelector('.two-view:not([data-old])') !== null && document.querySelector('.flow') !== null";
/** Both columns show steps. */
const two = "() => document.querySelectorAll('.two-row').length > 4";
const all = "() => document.querySelectorAll('.compare-cell').length > 100";

/** Reports the processor time of the page's thread since the last call, in ms: other processes do not add to it. */
async function processorTime(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  let before = 0;
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    const now = (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1_000;
    const since = now - before;
    before = now;
    return since;
  };
}

/** Scrolls by about half a screen, to the end and back, and waits for a frame each time. */
function scroll(list: string, step: number): string {
  const share = 1 - Math.abs(1 - (2 * step) / SCROLLS);
  return `() => { const at = document.querySelector('${list}'); at.scrollTop = (at.scrollHeight - at.clientHeight) * \
${share}; }`;
}

/** Rows are painted at the scroll position: what is in the middle of the list is a part of a row. */
function filled(list: string, row: string): string {
  return `() => { const { left, top, width, height } = document.querySelector('${list}').getBoundingClientRect(); \
return document.elementFromPoint(left + Math.min(width, 600) / 2, top + height / 2)?.closest('${row}') !== null; }`;
}

await using store = new TestStore();
const server = await servePages(store);
const random = new Random(5);
const { batch, rollouts } = await importAttempts(server, ATTEMPTS, (of, number) => attempt(of, number, random));
await using browser = await BenchWindow.open();
const times = {
  http: [] as number[],
  open: [] as number[],
  opening: [] as number[],
  reload: [] as number[],
  reloading: [] as number[],
  flow: [] as number[],
  flowTaken: [] as number[],
  expand: [] as number[],
  twoScroll: [] as number[],
  twoScrolling: [] as number[],
  reloadTaken: [] as number[],
  twoTaken: [] as number[],
  allTaken: [] as number[],
  all: [] as number[],
  showing: [] as number[],
  allScroll: [] as number[],
  allScrolling: [] as number[],
};
for (let round = 0; round < rounds(5); round++) {
  const began = performance.now();
  for (const rollout of rollouts) for await (const _ of server.api.allEvents(rollout));
  times.http.push(performance.now() - began);
  await using page = await browser.page();
  times.open.push(await opened(page, addressOf(server, { page: 'compare', batch, task: 't1' }), two));
  times.opening.push(await longestTask(page));
  // Again, with the program in memory: what opening it from another page takes.
  await painted(page, newFlow);
  await page.evaluate(() => customElements.whenDefined('vscode-checkbox'));
  await longestTask(page);
  await page.evaluate("document.querySelector('.two-view').dataset.old = '1'");
  const taken = await processorTime(page);
  await taken();
  times.reload.push(
    await reacted(page, "() => document.querySelector('[aria-label=Reload], [title=Reload]').click()", newTwo),
  );
  times.reloadTaken.push(await taken());
  const shown = await page.evaluate<number>('performance.now()');
  times.flow.push((times.reload.at(-1) ?? 0) + (await painted(page, newFlow)) - shown);
  times.flowTaken.push((times.reloadTaken.at(-1) ?? 0) + (await taken()));
  times.reloading.push(await longestTask(page));
  times.expand.push(await reacted(page, press('X', true), "() => document.querySelector('.two-fold') === null"));
  await longestTask(page);
  for (let step = 1; step <= SCROLLS; step++) {
    await taken();
    times.twoScroll.push(await reacted(page, scroll('.two-view', step), filled('.two-view', '.two-row, .two-reasons')));
    times.twoTaken.push(await taken());
  }
  times.twoScrolling.push(await longestTask(page));
  times.all.push(await reacted(page, press('v'), all));
  times.showing.push(await longestTask(page));
  const list = '.compare-rows .virtual-list';
  for (let step = 1; step <= SCROLLS; step++) {
    await taken();
    times.allScroll.push(await reacted(page, scroll(list, step), filled(list, '.compare-cell')));
    times.allTaken.push(await taken());
  }
  times.allScrolling.push(await longestTask(page));
}
await server.kill('SIGTERM');
console.log(
  table(
    [
      ['what, ms', 'min / median / max'],
      ['baseline: all of it over HTTP, parsed', spread(times.http, 0)],
      ['both columns painted, from the navigation', spread(times.open, 0)],
      ['longest task until then', taskText(times.opening)],
      ['both columns painted, the program in memory', spread(times.reload, 0)],
      ['processor time of the page’s thread until then', spread(times.reloadTaken, 0)],
      ['flow of all attempts painted', spread(times.flow, 0)],
      ['processor time of the page’s thread until then', spread(times.flowTaken, 0)],
      ['longest task until then', taskText(times.reloading)],
      ['all equal steps expanded', spread(times.expand, 0)],
      ['scrolled in both columns', spread(times.twoScroll, 0)],
      ['longest task while scrolling', taskText(times.twoScrolling)],
      ['processor time of one scroll', spread(times.twoTaken, 0)],
      ['all attempts painted', spread(times.all, 0)],
      ['longest task until then', taskText(times.showing)],
      ['scrolled in all attempts', spread(times.allScroll, 0)],
      ['longest task while scrolling', taskText(times.allScrolling)],
      ['processor time of one scroll', spread(times.allTaken, 0)],
    ],
    [1],
  ),
);
console.log(
  `${ATTEMPTS} attempts of ${STEPS} steps. Bound: opens in ≤ ${BOUND_MS} ms, scrolls without a task over ` +
    `${BOUND_TASK_MS} ms.`,
);
if (median(times.reload) > BOUND_MS || Math.max(...times.twoScrolling, ...times.allScrolling) > BOUND_TASK_MS)
  process.exitCode = 1;
