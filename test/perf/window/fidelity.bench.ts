/**
 * The fidelity page of 200 predicted calls of the sample's desk: how soon its rows and the first call are painted, from
 * the page of the batch, and from a navigation of its own. The baseline is the same events over HTTP, parsed and
 * discarded.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { z } from 'zod';
import { root } from '../../../src/build/bundles.ts';
import { TestStore } from '../../support/rolloutServer.ts';
import { median, rounds, spread, table } from '../support/table.ts';
import {
  addressOf,
  BenchWindow,
  longestTask,
  opened,
  PAGES,
  painted,
  reacted,
  taskText,
} from './support/benchWindow.ts';

/** Rollouts of the desk with about this many calls. */
const ROLLOUTS = '48';
const CALLS = 200;
const BOUND_MS = 150;
const cli = path.join(root, 'dist', 'cli.mjs');
const launched = z.object({ batch: z.string() });
const compared = launched.extend({ calls: z.number() });

await using store = new TestStore();
const server = await store.start(['--executor', 'local', '--pages', PAGES]);

function rollout(cwd: string, ...words: readonly string[]): string {
  const args = ['--disable-warning=ExperimentalWarning', cli, ...words, '--store', store.folder];
  const done = spawnSync(process.execPath, args, { cwd: path.join(store.folder, cwd), encoding: 'utf8' });
  if (done.status !== 0) throw new Error(done.stderr);
  return done.stdout;
}

rollout('', 'init', 'desk');
const desk = launched.parse(JSON.parse(rollout('desk', 'run', 'batches/desk.batch.yaml', '--attempts', '4', '--json')));
const world = ['--world', 'worlds/library-sim.world.yaml', '--most', ROLLOUTS, '--json'];
const { batch, calls } = compared.parse(JSON.parse(rollout('desk', 'world', 'fidelity', desk.batch, ...world)));
const rows =
  "() => document.querySelectorAll('.fidelity-row').length > 10 && document.querySelector('.fidelity-detail') !== null";
const button =
  "[...document.querySelectorAll('vscode-button')].find((one) => one.getAttribute('aria-label') === 'Fidelity')";
await using browser = await BenchWindow.open();
const whole = "() => document.querySelector('.fidelity-foot')?.textContent.includes('loading') === false";
const times = {
  http: [] as number[],
  first: [] as number[],
  open: [] as number[],
  whole: [] as number[],
  longest: [] as number[],
};
for (let round = 0; round < rounds(5); round++) {
  const began = performance.now();
  for await (const { rollout: id } of server.api.allRollouts(batch)) for await (const _ of server.api.allEvents(id));
  times.http.push(performance.now() - began);
  await using page = await browser.page();
  times.first.push(await opened(page, addressOf(server, { page: 'fidelity', batch }), rows));
  await page.goto('about:blank');
  await page.goto(addressOf(server, { page: 'batch', batch }));
  await painted(page, `() => ${button} !== undefined`);
  await longestTask(page);
  const clicked = await page.evaluate<number>('performance.now()');
  times.open.push(await reacted(page, `() => ${button}.click()`, rows));
  times.whole.push((await painted(page, whole)) - clicked);
  times.longest.push(await longestTask(page));
}
console.log(
  table(
    [
      ['what, ms', 'min / median / max'],
      ['baseline: all of it over HTTP, parsed', spread(times.http, 0)],
      ['painted, from the navigation', spread(times.first, 0)],
      ['painted, from the page of the batch', spread(times.open, 0)],
      ['all calls, from the page of the batch', spread(times.whole, 0)],
      ['longest task until then', taskText(times.longest)],
    ],
    [1],
  ),
);
console.log(`${calls} predicted calls (about ${CALLS}). Bound: opens in ≤ ${BOUND_MS} ms.`);
if (median(times.open) > BOUND_MS) process.exitCode = 1;
