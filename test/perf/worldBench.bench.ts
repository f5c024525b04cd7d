/**
 * Peak memory of the server and of the workers in a batch of AgentWorldBench rows of 60,000 tokens, and in one with
 * four times as many rows. The demo model is world model and judge, so the server has its memory, too.
 */
import { once } from 'node:events';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { peakRss } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { table } from './support/table.ts';

const SIZES = [200, 800];
const LANES = 16;
const TURNS = 10;
/** Characters of a row: four per token. */
const CHARS = 240_000;
const WATCH_MS = 100;

/** Returns text that no other row has. */
function textOf(row: number, turn: number, chars: number): string {
  const line = (n: number): string =>
    `{"loan_id":"L-${row}-${turn}-${n}","title":"The Salt Road","due":"2026-03-20"}\n`;
  const lines = Math.ceil(chars / line(0).length);
  return Array.from({ length: lines }, (_, n) => line(n)).join('');
}

async function writeRows(file: string, rows: number): Promise<void> {
  const out = createWriteStream(file);
  for (let row = 0; row < rows; row++) {
    const prompt = Array.from({ length: TURNS }, (_, turn) => `### Turn ${turn + 1}\nlist_loans ${row}`);
    const response = prompt.map((_, turn) => `**Environment Observation:**\n${textOf(row, turn, CHARS / TURNS)}`);
    const line = {
      ...{ task: 'mcp', id: row, prompt, response, current_prompt: prompt.at(-1) },
      ...{ system_str: 'You are an environment.', turn_idx: TURNS },
    };
    if (!out.write(`${JSON.stringify(line)}\n`)) await once(out, 'drain');
  }
  out.end();
  await finished(out);
}

const rows = [['rows', 'MB of the file', 'seconds', 'peak resident MB: server', 'workers', 'MB of the store']];
for (const size of SIZES) {
  const bench = new ProductBench();
  try {
    mkdirSync(bench.workspace, { recursive: true });
    const write = (name: string, value: object): void =>
      writeFileSync(path.join(bench.workspace, name), JSON.stringify({ version: 1, ...value }));
    const model = { endpoint: 'demo:?context=200000', name: 'demo' };
    write('m.agent.yaml', { name: 'm', prompt: 'Unused.', model });
    write('b.batch.yaml', {
      agent: 'm.agent.yaml',
      dataset: { file: 'mcp_test.jsonl', format: 'agentworldbench' },
      scorer: { kind: 'judge', subject: 'observation', model },
      concurrency: LANES,
    });
    await writeRows(path.join(bench.workspace, 'mcp_test.jsonl'), size);
    const started = performance.now();
    const workers = new Map<number, number>();
    const watch = setInterval(() => {
      for (const pid of bench.workers()) {
        try {
          workers.set(pid, Math.max(workers.get(pid) ?? 0, peakRss(pid)));
        } catch {
          // It has just ended: what was seen of it counts.
        }
      }
    }, WATCH_MS);
    const report = JSON.parse(await bench.rollout(['run', 'b.batch.yaml', '--json'])) as { scored: number };
    clearInterval(watch);
    if (report.scored !== size) throw new Error(`only ${report.scored} of ${size} rows have a score`);
    const mb = (bytes: number): string => (bytes / 1e6).toFixed(0);
    const workerRss = [...workers.values()].reduce((sum, bytes) => sum + bytes, 0);
    rows.push([
      String(size),
      mb(size * CHARS),
      ((performance.now() - started) / 1000).toFixed(0),
      mb(peakRss(bench.serverPid())),
      mb(workerRss),
      mb(bench.bytesOnDisk()),
    ]);
  } finally {
    await bench.close();
  }
}
console.log(table(rows, [0, 1, 2, 3, 4, 5]));
console.log('Bound: memory does not grow with rows.');
