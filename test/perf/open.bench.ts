/**
 * A trajectory of 337,000 events and 127 MB in the store: how soon its first events are available, and any others, over
 * HTTP.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { Random } from '../support/random.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { importedAndPacked, longTrajectory } from './support/longTrajectory.ts';
import { peakRss } from './support/processes.ts';
import { rounds, spread, table } from './support/table.ts';

const PAGE = 200;
const JUMPS = 50;

/** What a file viewer does first: reads and parses all of it, in a separate process. */
function parsed(events: readonly TraceEvent[]): number {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-bench-'));
  try {
    const file = path.join(folder, 'events.jsonl');
    writeFileSync(file, events.map((one) => JSON.stringify(one)).join('\n'));
    readFileSync(file); // a warm file cache for both
    const code =
      `const t = performance.now(); require('node:fs').readFileSync(process.argv[1], ` +
      `'utf8').split('\\n').map((line) => JSON.parse(line)); console.log(performance.now() - t)`;
    return Number(spawnSync(process.execPath, ['-e', code, file], { encoding: 'utf8' }).stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const { events, bytes } = longTrajectory();
await using store = new TestStore();
const rollout = await importedAndPacked(store, events);
const random = new Random(5);
const times = { file: [] as number[], first: [] as number[], jump: [] as number[], rss: [] as number[] };
for (let round = 0; round < rounds(3); round++) {
  times.file.push(parsed(events));
  const server = await store.start();
  const page = async (after: number): Promise<number> => {
    const began = performance.now();
    const got = (await (await server.fetch(`/v1/streams/${rollout}/events?after=${after}&limit=${PAGE}`)).json()) as {
      events: TraceEvent[];
    };
    if (got.events[0]?.seq !== after + 1) throw new Error(`event ${after + 1} did not come first`);
    return performance.now() - began;
  };
  times.first.push(await page(0));
  for (let jump = 0; jump < JUMPS; jump++)
    times.jump.push(await page(Math.floor(random.next() * (events.length - PAGE))));
  times.rss.push(peakRss(server.file.pid) / 1e6);
  await server.kill('SIGTERM');
}
console.log(
  table(
    [
      ['what', 'min / median / max'],
      ['baseline: read and parse a file of it, ms', spread(times.file, 0)],
      [`first ${PAGE} events, server just started, ms`, spread(times.first, 0)],
      [`${PAGE} events from anywhere, ms`, spread(times.jump, 1)],
      ['peak resident MB of the server', spread(times.rss, 0)],
    ],
    [1],
  ),
);
console.log(
  `${events.length} events, ${(bytes / 1e6).toFixed(0)} MB. Bound: first ≤ 1,000 ms, from anywhere ≤ 100 ms.`,
);
