/** An import reads its file piece by piece: the memory of the client does not grow with the file. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { after, before, it } from 'node:test';
import { promisify } from 'node:util';
import { trial } from '../support/tauTrial.ts';

const TRIALS = 200;
const CALLS = 40;
const HEAP_MB = 40;

let folder: string;
before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'import-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

function* results(): Generator<string> {
  for (let number = 0; number < TRIALS; number++) {
    const calls = Array.from({ length: CALLS }, (_, n) => ({
      name: 'find',
      arguments: { n },
      result: 'x'.repeat(10_000),
    }));
    yield `${number === 0 ? '[' : ','}\n${JSON.stringify(trial(`t${number % 50}`, Math.floor(number / 50), 1, calls))}`;
  }
  yield ']\n';
}

it('imports a file of 80 MB with a heap of 40 MB', async () => {
  const file = path.join(folder, 'results.json');
  await pipeline(Readable.from(results()), createWriteStream(file));
  const main = path.join(import.meta.dirname, '../support/importMain.ts');
  const args = ['--disable-warning=ExperimentalWarning', `--max-old-space-size=${HEAP_MB}`, main, file];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { rollouts, events, longest } = JSON.parse(stdout) as Record<string, number>;
  assert.equal(rollouts, TRIALS);
  // Start, two messages, three events of the last model call, score, end, and of each call six.
  assert.equal(events, TRIALS * (8 + CALLS * 6));
  assert.ok(longest! < 6e6, `a request of ${longest} characters`);
});
