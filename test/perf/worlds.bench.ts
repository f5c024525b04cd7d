/**
 * A folder of 1,000 published worlds with the sizes of AWM-1K (about 500 MB), listed, searched, and read in a process
 * of its own. The baseline reads all bytes once.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { scenarioRows, writeAwmFolder } from '../support/awmFolder.ts';
import { rounds, spread, table } from './support/table.ts';

const SCENARIOS = 1_000;
const WORDS = 'shelf 777';
/** Characters for each scenario; of verifiers and endpoints there are two. */
const SIZES = {
  schema: 12_000,
  rows: 36_000,
  spec: 33_000,
  code: 100_000,
  codeVerifier: 22_000,
  sqlVerifier: 118_000,
};

const measured = z.object({ times: z.array(z.number()).length(5), found: z.number(), mb: z.number() });

const folder = mkdtempSync(path.join(os.tmpdir(), 'worlds-'));
try {
  writeAwmFolder(
    folder,
    (function* () {
      for (let index = 0; index < SCENARIOS; index++) yield scenarioRows(`shelf_${index}`, SIZES);
    })(),
  );
  const files = readdirSync(folder).map((name) => path.join(folder, name));
  const megabytes = files.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6;
  const plain: number[] = [];
  const columns: number[][] = [[], [], [], [], []];
  const memory: number[] = [];
  for (let round = 0; round < rounds(3); round++) {
    const began = performance.now();
    for (const file of files) await readThrough(file);
    plain.push(performance.now() - began);
    const script = path.join(import.meta.dirname, 'support/publishedWorlds.ts');
    const output = execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', script, folder, WORDS], {
      encoding: 'utf8',
    });
    const { times, found, mb } = measured.parse(JSON.parse(output));
    if (found !== 1) throw new Error(`${found} scenarios were found`);
    times.forEach((time, column) => columns[column]?.push(time));
    memory.push(mb);
  }
  const labels = [
    'list all scenarios (bound: 1,000)',
    'first search, which reads names of tables and tools',
    'search (bound: 300)',
    'first scenario in full, which finds the rows of all files',
    'code of another scenario',
  ];
  console.log(
    table(
      [
        [`${megabytes.toFixed(0)} MB`, 'min / median / max'],
        ['baseline: read all bytes once, ms', spread(plain, 0)],
        ...labels.map((label, column) => [`${label}, ms`, spread(columns[column] ?? [], 1)]),
        ['memory of the process (bound: 200), MB', spread(memory, 0)],
      ],
      [1],
    ),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function readThrough(file: string): Promise<void> {
  const handle = await open(file);
  const chunk = Buffer.allocUnsafe(4 * 1024 * 1024);
  while ((await handle.read(chunk, 0, chunk.length)).bytesRead > 0);
  await handle.close();
}
