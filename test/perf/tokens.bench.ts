/**
 * What a step of the sample with captured tokens costs in the store, by table: `npm run bench tokens`. The batch runs
 * in processes of its own; sizes are those of SQLite's pages, after ended rollouts were compressed and freed pages
 * returned.
 */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '../../src/store/open.ts';
import { SqlStore } from '../../src/store/sqlStore.ts';
import { Bench, end, root } from '../support/cli.ts';
import { table } from './support/table.ts';

const ATTEMPTS = 32;
/** Tables of the tokens of model calls, by what they hold. */
const OF_TOKENS = new Set(['blob', 'blob_chunk', 'sqlite_autoindex_blob_chunk_1', 'blob_pack', 'blob_ref']);

const bench = new Bench();
try {
  await cp(path.join(root, 'media', 'sample'), bench.path('sample'), { recursive: true });
  const agent = bench.path('sample', 'agents', 'desk.agent.yaml');
  const text = await readFile(agent, 'utf8');
  await writeFile(
    agent,
    text.replace(/^ {2}sampling:/m, '  capture: { token_ids: true, logprobs: true }\n  sampling:'),
  );
  await bench.run(['run', 'batches/desk.batch.yaml', '--attempts', String(ATTEMPTS), '--json'], {
    cwd: bench.path('sample'),
    timeoutMs: 600_000,
  });
  const pid = bench.serverFile()?.pid;
  if (pid !== undefined) await end(pid);
  const store = await openStore(bench.store);
  if (store instanceof SqlStore) await store.pack();
  await store.gc({ dryRun: false });
  await store.close();
  const database = new DatabaseSync(bench.path('store', 'store.db'), { readOnly: true });
  const steps = Number(database.prepare('SELECT sum(steps) AS n FROM batch').get()?.['n']);
  const others = Number(database.prepare('SELECT sum(size) AS n FROM blob WHERE pack IS NULL').get()?.['n']);
  const rows = database.prepare('SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name ORDER BY 2 DESC').all();
  database.close();
  const sizes = rows.map(({ name, bytes }) => ({ name: String(name), bytes: Number(bytes) }));
  const sum = (of: readonly { readonly bytes: number }[]): number => of.reduce((all, { bytes }) => all + bytes, 0);
  const perStep = (bytes: number): string => String(Math.round(bytes / steps));
  const tokens = sizes.filter(({ name }) => OF_TOKENS.has(name));
  console.log(
    table(
      [
        ['table', 'bytes/step', 'share'],
        ...sizes.slice(0, 10).map(({ name, bytes }) => [name, perStep(bytes), share(bytes, sum(sizes))]),
        ['tokens', perStep(sum(tokens) - others), share(sum(tokens) - others, sum(sizes))],
      ],
      [1, 2],
    ),
  );
  console.log(`Tokens of ${steps} steps, without ${others} bytes of other blobs. Bound: 900 bytes per step.`);
} finally {
  await bench.close();
  await rm(bench.folder, { recursive: true, force: true });
}

function share(part: number, all: number): string {
  return `${Math.round((100 * part) / all)} %`;
}
