/**
 * A batch of 200,000 attempts: its row and its first page over HTTP, from a server that just started. The baseline is
 * plain SQLite.
 */

import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { plainSubmission, TestStore, tasks } from '../support/rolloutServer.ts';
import { rounds, spread, table } from './support/table.ts';

const TASKS = 6_250;
const ATTEMPTS = 32;
const PAGE = 500;
const AT_ONCE = 500;

async function timed(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

await using store = new TestStore();
const first = await store.start();
const all = tasks(TASKS);
const batch = await first.submit(plainSubmission({ attempts: ATTEMPTS }), all.slice(0, AT_ONCE), { open: true });
for (let at = AT_ONCE; at < TASKS; at += AT_ONCE) await first.api.appendTasks(batch, at, all.slice(at, at + AT_ONCE));
await first.kill('SIGTERM');

const times = { bare: [] as number[], row: [] as number[], page: [] as number[], deep: [] as number[] };
for (let round = 0; round < rounds(5); round++) {
  const database = new DatabaseSync(path.join(store.folder, 'store.db'), { readOnly: true });
  times.bare.push(
    await timed(() =>
      JSON.stringify(database.prepare('SELECT * FROM rollout ORDER BY batch, task, attempt, try LIMIT ?').all(PAGE)),
    ),
  );
  database.close();
  const server = await store.start();
  times.row.push(
    await timed(async () => {
      const row = (await (await server.fetch(`/v1/batches/${batch}`)).json()) as { counts: { queued: number } };
      if (row.counts.queued !== TASKS * ATTEMPTS) throw new Error(`${row.counts.queued} attempts are queued`);
    }),
  );
  const page = async (query: string): Promise<void> => {
    const got = (await (await server.fetch(`/v1/batches/${batch}/rollouts?limit=${PAGE}${query}`)).json()) as {
      rollouts: unknown[];
    };
    if (got.rollouts.length !== PAGE) throw new Error(`a page of ${got.rollouts.length}`);
  };
  times.page.push(await timed(() => page('')));
  times.deep.push(await timed(() => page(`&after=${TASKS - 50}.5.1`)));
  await server.kill('SIGTERM');
}
console.log(
  table(
    [
      ['what', 'ms (min / median / max)'],
      [`baseline: ${PAGE} rows of the table, SQLite alone`, spread(times.bare, 1)],
      ['row of the batch', spread(times.row, 1)],
      [`first ${PAGE} rollouts`, spread(times.page, 1)],
      [`${PAGE} rollouts near the end`, spread(times.deep, 1)],
    ],
    [1],
  ),
);
console.log(`${TASKS * ATTEMPTS} attempts. Bound: ≤ 300 ms.`);
