/**
 * A folder of 1,000 published worlds with the sizes of AWM-1K (about 500 MB), listed, searched, and read in a process
 * of its own. The baseline reads all bytes once.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { lintScenarios } from '../../src/client/published/lint.ts';
import { openPublished } from '../../src/client/published/open.ts';
import { PYTHONS } from '../../src/tools/processes/processTree.ts';
import { writeLargeFolder } from './support/largeFolder.ts';
import { rounds, spread, table } from './support/table.ts';

const WORDS = 'shelf 777';
const NEVER = new AbortController().signal;
const measured = z.object({ times: z.array(z.number()).length(5), found: z.number(), mb: z.number() });

const folder = mkdtempSync(path.join(os.tmpdir(), 'worlds-'));
try {
  writeLargeFolder(folder);
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
  await benchLint();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Lints one scenario of the folder without its kept result. The baseline starts the same interpreter. */
async function benchLint(): Promise<void> {
  const python = PYTHONS[0] ?? '';
  if (spawnSync(python, ['--version']).status !== 0) {
    console.log(`${python} is missing: the lint is not measured`);
    return;
  }
  const worlds = await openPublished(folder, NEVER);
  const first: number[] = [];
  const times: number[] = [];
  const started: number[] = [];
  for (let round = 0; round < rounds(5); round++) {
    const began = performance.now();
    execFileSync(python, ['-I', '-c', 'import ast, json, sqlite3']);
    started.push(performance.now() - began);
    const cache = path.join(folder, `lint-${round}`);
    const lintBegan = performance.now();
    for await (const health of lintScenarios(worlds, [`shelf_${round}`], { cache, signal: NEVER }))
      if (health.stopped !== undefined) throw new Error(health.stopped);
    (round === 0 ? first : times).push(performance.now() - lintBegan);
  }
  await worlds.close();
  console.log(
    table(
      [
        ['lint of one scenario, without running its code', 'min / median / max'],
        ['baseline: start of the interpreter, ms', spread(started, 0)],
        ['the first, which finds the rows of all files (bound: 5,000), ms', spread(first, 0)],
        ['each other (bound: 5,000), ms', spread(times, 0)],
      ],
      [1],
    ),
  );
}

async function readThrough(file: string): Promise<void> {
  const handle = await open(file);
  const chunk = Buffer.allocUnsafe(4 * 1024 * 1024);
  while ((await handle.read(chunk, 0, chunk.length)).bytesRead > 0);
  await handle.close();
}
