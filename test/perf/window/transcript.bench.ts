/**
 * A recording of 100,201 events as a transcript: how soon its first text is painted with the program in memory, from a
 * server and from the data of a saved file, and from the navigation to that file; how long it takes to switch between
 * the transcript and the steps, and to jump to its end and its beginning. The baseline is the same data over HTTP,
 * parsed and discarded.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { gatherOffline } from '../../../src/client/offline/offlineData.ts';
import { offlinePage } from '../../../src/client/offline/offlinePage.ts';
import type { PagePlace } from '../../../src/protocol/page.ts';
import { placeToParams } from '../../../src/protocol/viewLink.ts';
import { TestStore } from '../../support/rolloutServer.ts';
import { Stream } from '../../support/stream.ts';
import { importAttempts } from '../support/importAttempts.ts';
import { median, rounds, spread, table } from '../support/table.ts';
import {
  addressOf,
  BenchWindow,
  longestTask,
  opened,
  PAGES,
  painted,
  press,
  reacted,
  servePages,
  taskText,
} from './support/benchWindow.ts';

const TURNS = 14_314;
const JUMPS = 10;
const BOUND_MS = 500;
const BOUND_JUMP_MS = 100;

/** Without times, so that it opens as a transcript. Seven events a turn. */
function recording(batch: string): Stream {
  const s = new Stream();
  s.start({ batch, task: 't1', times: 'none' });
  s.message('user', 'Renew everything overdue for Ada.');
  for (let turn = 0; turn < TURNS; turn++) {
    const [id, name, args] = [`c${turn}`, `tool_${turn % 7}`, { loan_id: turn, days: 14 }];
    s.model(`Turn ${turn}: ${'and so on '.repeat(30)}`, [{ id, name, arguments: args }]);
    s.toolEnd(s.toolStart(id, name, args), id, { ok: true, text: 'x'.repeat(200) });
    s.message('user', `And turn ${turn + 1}, please.`);
  }
  s.end({});
  return s;
}

/** A screen of the transcript is filled. */
const text = "() => document.querySelectorAll('.transcript .tr-row').length > 4";
const steps = "() => document.querySelectorAll('.step-row').length > 8";
const whole = "() => document.querySelector('.page-foot')?.textContent.includes('Imported') === true";

/** The text of a turn is in the rows. */
function turn(number: number): string {
  return `() => [...document.querySelectorAll('.tr-row')].some((row) => row.textContent.includes('Turn ${number}:'))`;
}

/** Navigates in the page, as Back and Forward do. */
function go(place: PagePlace): string {
  const change = JSON.stringify([...placeToParams(place)]);
  return (
    '() => { const params = new URLSearchParams(location.hash.slice(1)); for (const key of [...params.keys()]) if ' +
    `(key !== 'token') params.delete(key); for (const [key, value] of ${change}) params.set(key, value); ` +
    'location.hash = params.toString(); }'
  );
}

await using store = new TestStore();
const server = await servePages(store);
let count = 0;
const { batch, rollouts } = await importAttempts(server, 1, (of) => {
  const { events } = recording(of);
  count = events.length;
  return events;
});
const rollout = rollouts[0] ?? '';
const signal = AbortSignal.timeout(300_000);
const place = { page: 'trajectory', rollout } as const;
const { data } = await gatherOffline(server.api, { place, trajectories: true, signal });
const file = path.join(store.folder, 'saved.html');
writeFileSync(file, await offlinePage({ title: 'recording', data, pages: PAGES }));
await using browser = await BenchWindow.open();
const times = {
  http: [] as number[],
  server: [] as number[],
  serverAll: [] as number[],
  file: [] as number[],
  memory: [] as number[],
  memoryAll: [] as number[],
  reading: [] as number[],
  toSteps: [] as number[],
  toText: [] as number[],
  jumps: [] as number[],
};

/** Opens the recording from a page of its batch. Returns the times until its first text and until all of it is read. */
async function fromBatch(page: Page): Promise<{ readonly first: number; readonly all: number }> {
  await reacted(page, go({ page: 'batch', batch }), "() => document.querySelector('.transcript') === null");
  await longestTask(page);
  const first = await reacted(page, go(place), text);
  const shown = await page.evaluate<number>('performance.now()');
  return { first, all: first + (await painted(page, whole)) - shown };
}

for (let round = 0; round < rounds(5); round++) {
  const began = performance.now();
  for await (const _ of server.api.allEvents(rollout));
  times.http.push(performance.now() - began);
  {
    await using page = await browser.page();
    await opened(page, addressOf(server, place), text);
    await painted(page, whole);
    const { first, all } = await fromBatch(page);
    times.server.push(first);
    times.serverAll.push(all);
  }
  await using page = await browser.page();
  times.file.push(await opened(page, pathToFileURL(file).href, text));
  await painted(page, whole);
  const { first, all } = await fromBatch(page);
  times.memory.push(first);
  times.memoryAll.push(all);
  times.reading.push(await longestTask(page));
  times.toSteps.push(await reacted(page, press('v'), steps));
  times.toText.push(await reacted(page, press('v'), text));
  for (let jump = 0; jump < JUMPS; jump++)
    times.jumps.push(await reacted(page, press('End'), turn(TURNS - 1)), await reacted(page, press('Home'), turn(0)));
}
await server.kill('SIGTERM');
console.log(
  table(
    [
      ['what, ms', 'min / median / max'],
      ['baseline: all of it over HTTP, parsed', spread(times.http, 0)],
      ['first text from a server, the program in memory', spread(times.server, 0)],
      ['all of it read', spread(times.serverAll, 0)],
      ['first text of a saved file, from the navigation', spread(times.file, 0)],
      ['first text of a saved file, its data in memory', spread(times.memory, 0)],
      ['all of it read', spread(times.memoryAll, 0)],
      ['longest task until then', taskText(times.reading)],
      ['V: to the steps', spread(times.toSteps, 0)],
      ['V: to the transcript', spread(times.toText, 0)],
      ['End and Home', spread(times.jumps, 0)],
    ],
    [1],
  ),
);
console.log(`${count} events. Bounds: first text ≤ ${BOUND_MS} ms, jump ≤ ${BOUND_JUMP_MS} ms.`);
if (Math.max(median(times.server), median(times.memory)) > BOUND_MS || median(times.jumps) > BOUND_JUMP_MS)
  process.exitCode = 1;
