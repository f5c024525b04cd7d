/**
 * A trajectory page and a batch page that follow 1,000 events a second: from `at` of an event to the frame that shows
 * it, by the single clock of this machine. The events arrive through a worker's connection, ten every ten milliseconds,
 * each with the time at which it was written. The baseline is a Node client that follows the same stream and draws
 * nothing.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import WebSocket from 'ws';
import { type Grant, PROTOCOL } from '../../../src/protocol/worker.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import type { FakeWorker } from '../../support/fakeWorker.ts';
import { openingEvents } from '../../support/fakeWorker.ts';
import { plainSubmission, type TestServer, TestStore, tasks } from '../../support/rolloutServer.ts';
import { table } from '../support/table.ts';
import { addressOf, BenchWindow, longestTask, servePages, taskText } from './support/benchWindow.ts';

const SECONDS = 12;
const PER_SECOND = 1000;
const TICK_MS = 10;
const LANES = 64;
/** High enough that the batch page shows all of them. */
const ALL_IN_SIGHT = 1900;
/** The batch page shows two digits of a running attempt's steps. */
const STEPS_EACH = 95;

/** What happened when, according to the page or the client: [what, ms since the epoch]. */
type Sightings = readonly (readonly [string, number])[];

interface Latencies {
  readonly all: number[];
  readonly task: number;
}

/** Writes about 1,000 events a second: `make` returns those of a tick, one list for each rollout. */
async function write(
  worker: FakeWorker,
  seconds: number,
  make: (tick: number) => readonly { readonly grant: Grant; readonly events: readonly TraceEvent[] }[],
): Promise<void> {
  const began = performance.now();
  for (let tick = 0; tick * TICK_MS < seconds * 1000; tick++) {
    const wait = began + tick * TICK_MS - performance.now();
    if (wait > 0) await delay(wait);
    for (const { grant, events } of make(tick)) worker.append(grant, events);
  }
}

/** Logs in one rollout, each with its number. */
function logs(grant: Grant, written: Map<string, number>): (tick: number) => { grant: Grant; events: TraceEvent[] }[] {
  let seq = grant.last + 2;
  let number = 0;
  return () => {
    const at = Date.now();
    const events = Array.from({ length: (PER_SECOND * TICK_MS) / 1000 }, (): TraceEvent => {
      seq += 1;
      number += 1;
      written.set(String(number), at);
      return { seq, v: 1, at, kind: 'log', data: { stream: 'out', text: `line ${number} ${'x'.repeat(300)}` } };
    });
    return [{ grant, events }];
  };
}

/** Steps in many rollouts, two events each, in turn. */
function stepping(
  grants: readonly Grant[],
  written: Map<string, number>,
): (tick: number) => { grant: Grant; events: TraceEvent[] }[] {
  const state = grants.map((grant) => ({ grant, seq: grant.last + 2, step: 0 }));
  let next = 0;
  return () =>
    Array.from({ length: (PER_SECOND * TICK_MS) / 1000 / 2 }, () => {
      const one = state[next++ % state.length];
      if (one === undefined || one.step >= STEPS_EACH) return [];
      const at = Date.now();
      one.step += 1;
      written.set(`${one.grant.task.id} ${one.step}`, at);
      const start: TraceEvent = {
        seq: one.seq + 1,
        v: 1,
        at,
        kind: 'model.start',
        data: { step: one.step, model: 'demo', context: [], sampling: {} },
      };
      const end: TraceEvent = {
        seq: one.seq + 2,
        v: 1,
        at,
        kind: 'model.end',
        span: start.seq,
        data: { status: 'ok', usage: { input_tokens: 10, output_tokens: 5 }, trainable: false, source: 'live' },
      };
      one.seq += 2;
      return [{ grant: one.grant, events: [start, end] }];
    }).flat();
}

/** Records in the page, after each frame, the newest visible line. */
function noteLines(): void {
  const seen: [string, number][] = [];
  let newest = 0;
  Object.assign(window, { seen });
  void window.probe.frames(() => {
    const list = document.querySelector('.steps-list .virtual-list');
    const bottom = list?.getBoundingClientRect().bottom ?? 0;
    const rows = [...(list?.querySelectorAll('.step-row.is-log') ?? [])].filter(
      (row) => row.getBoundingClientRect().bottom <= bottom + 1,
    );
    const line = Math.max(0, ...rows.map((row) => Number(/line (\d+)/.exec(row.textContent)?.[1] ?? 0)));
    if (line > newest) seen.push([String(line), performance.timeOrigin + performance.now()]);
    newest = Math.max(newest, line);
    return false;
  }, 3_600_000);
}

/** Records in the page, after each frame, the steps that the grid shows of every task. */
function noteSteps(): void {
  const seen: [string, number][] = [];
  const latest = new Map<string, number>();
  Object.assign(window, { seen });
  void window.probe.frames(() => {
    const now = performance.timeOrigin + performance.now();
    const byRow = new Map<number, { task?: string; step?: number }>();
    for (const { text, y, font } of window.probe.drawn(document.querySelector('.batch-grid canvas'))) {
      const row = byRow.get(y) ?? {};
      byRow.set(y, row);
      if (/^t\d+$/.test(text)) row.task = text;
      else if (font.startsWith('10px') && /^\d+$/.test(text)) row.step = Number(text);
    }
    for (const { task, step } of byRow.values()) {
      if (task === undefined || step === undefined || step <= (latest.get(task) ?? 0)) continue;
      latest.set(task, step);
      seen.push([`${task} ${step}`, now]);
    }
    return false;
  }, 3_600_000);
}

/**
 * Everything up to the seen event is visible: an event counts at the first frame with it or a later one of its row.
 */
function latencies(written: ReadonlyMap<string, number>, seen: Sightings): number[] {
  const split = (what: string): [string, number] => {
    const space = what.lastIndexOf(' ');
    return [what.slice(0, Math.max(0, space)), Number(what.slice(space + 1))];
  };
  const byRow = new Map<string, { readonly upTo: number; readonly at: number }[]>();
  for (const [what, at] of seen) {
    const [row, upTo] = split(what);
    byRow.set(row, [...(byRow.get(row) ?? []), { upTo, at }]);
  }
  return [...written].flatMap(([what, at]) => {
    const [row, number] = split(what);
    const first = byRow.get(row)?.find(({ upTo }) => upTo >= number);
    return first === undefined ? [] : [first.at - at];
  });
}

/** Waits until the last written event is seen. */
async function settled(page: Page, written: ReadonlyMap<string, number>): Promise<Sightings> {
  for (let tries = 0; ; tries++) {
    const seen = await page.evaluate(() => (window as unknown as { seen: [string, number][] }).seen);
    if (latencies(written, seen).length === written.size || tries === 100) return seen;
    await delay(100);
  }
}

async function granted(
  server: TestServer,
  count: number,
): Promise<{ readonly worker: FakeWorker; readonly grants: readonly Grant[]; readonly batch: string }> {
  const batch = await server.submit(plainSubmission({ attempts: 1 }), tasks(count));
  const worker = await server.worker(batch, { slots: count });
  const grants = await worker.lease(count);
  for (const grant of grants) await worker.appendAcked(grant, openingEvents(grant));
  return { worker, grants, batch };
}

/** The bare client: records when each line arrived. */
async function bare(server: TestServer, worker: FakeWorker, grant: Grant): Promise<Latencies> {
  const written = new Map<string, number>();
  const seen: [string, number][] = [];
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/client`, {
    headers: { authorization: `Bearer ${server.file.token}` },
  });
  const stands = Promise.withResolvers<undefined>();
  socket.on('open', () => socket.send(JSON.stringify({ type: 'hello', protocol: PROTOCOL })));
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as {
      type: string;
      sub: string;
      events: { seq: number; data: { text?: string } }[];
    };
    if (frame.type === 'welcome')
      socket.send(JSON.stringify({ type: 'subscribe', sub: '1', stream: grant.rollout, after: 0 }));
    if (frame.type === 'head') stands.resolve(undefined);
    if (frame.type !== 'events') return;
    const last = /line (\d+)/.exec(frame.events.at(-1)?.data.text ?? '')?.[1];
    if (last !== undefined) seen.push([last, Date.now()]);
    socket.send(JSON.stringify({ type: 'seen', sub: '1', cursor: frame.events.at(-1)?.seq ?? 0 }));
  });
  await stands.promise;
  await write(worker, SECONDS, logs(grant, written));
  for (let tries = 0; latencies(written, seen).length < written.size && tries < 100; tries++) await delay(100);
  socket.close();
  return { all: complete(written, seen), task: 0 };
}

function complete(written: ReadonlyMap<string, number>, seen: Sightings): number[] {
  const all = latencies(written, seen);
  if (all.length < written.size) throw new Error(`${written.size - all.length} of ${written.size} were never seen`);
  return all;
}

interface Look {
  readonly url: string;
  /** The content of the page once it is open. */
  readonly ready: string;
  readonly note: () => void;
  readonly feed: (written: Map<string, number>) => Promise<void>;
  readonly height?: number;
}

async function onPage(browser: BenchWindow, { url, ready, note, feed, height }: Look): Promise<Latencies> {
  await using page = await browser.page(height);
  await page.goto(url);
  await page.waitForSelector(ready);
  await page.evaluate(note);
  await longestTask(page);
  const written = new Map<string, number>();
  await feed(written);
  const seen = await settled(page, written);
  return { all: complete(written, seen), task: await longestTask(page) };
}

const shares = [0.5, 0.95, 0.99, 1] as const;
function percentiles(values: readonly number[]): string[] {
  const sorted = [...values].sort((a, b) => a - b);
  return shares.map((share) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(0),
  );
}

await using store = new TestStore();
const server = await servePages(store);
await using browser = await BenchWindow.open();
const lines = await granted(server, 2);
const [first, second] = lines.grants;
if (first === undefined || second === undefined) throw new Error('no grants');
const baseline = await bare(server, lines.worker, first);
const trajectory = await onPage(browser, {
  url: addressOf(server, { page: 'trajectory', rollout: second.rollout }),
  ready: '.trajectory-page .page-foot',
  note: noteLines,
  feed: (written) => write(lines.worker, SECONDS, logs(second, written)),
});
const lanes = await granted(server, LANES);
const batch = await onPage(browser, {
  url: addressOf(server, { page: 'batch', batch: lanes.batch }),
  ready: '.batch-grid canvas',
  note: noteSteps,
  height: ALL_IN_SIGHT,
  feed: (written) => write(lanes.worker, SECONDS, stepping(lanes.grants, written)),
});
const base = Number(percentiles(baseline.all)[1]);
const row = (name: string, { all, task }: Latencies): string[] => [
  name,
  ...percentiles(all),
  (Number(percentiles(all)[1]) / Math.max(1, base)).toFixed(1),
  name.startsWith('baseline') ? '' : (taskText([task]).split(' / ')[0] ?? ''),
  String(all.length),
];
console.log(
  table(
    [
      ['from `at` to …, ms', 'p50', 'p95', 'p99', 'longest', 'p95 of the baseline', 'longest task', 'seen'],
      row('baseline: received by a client in Node', baseline),
      row('painted, trajectory page', trajectory),
      row(`painted, batch page of ${LANES} running attempts`, batch),
    ],
    [1, 2, 3, 4, 5, 6, 7],
  ),
);
console.log(`${PER_SECOND} events/s for ${SECONDS} s each. Bound: p95 ≤ 250 ms.`);
