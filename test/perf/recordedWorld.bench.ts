/**
 * A recorded world of 64 attempts with 200 calls each: reading the recordings, opening the first session and the next
 * ones, and each answer. The baseline parses the same file.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ContentCache } from '../../src/client/published/cache.ts';
import { RecordedCallsWriter } from '../../src/client/recordings/writer.ts';
import type { JsonObject } from '../../src/common/json.ts';
import { WORLD_MATCHES } from '../../src/config/schema/recordedWorld.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import { RecordedCalls } from '../../src/worlds/recorded/recordedCalls.ts';
import { RecordedSession } from '../../src/worlds/recorded/session.ts';
import { Stream } from '../support/stream.ts';
import { rounds, spread, table } from './support/table.ts';

const ATTEMPTS = 64;
const STEPS = 200;
/** Characters of an answer. */
const ANSWER = 800;
const TASK = { id: 't1', question: 'What is on the shelf?' };
/** All attempts begin with the same calls, so that each answer is chosen among all of them. */
const SHARED = STEPS / 2;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void; // the flag defines it
const never = new AbortController().signal;
const measured = new Map<string, number[]>();
const note = (name: string, value: number): void => {
  measured.set(name, [...(measured.get(name) ?? []), value]);
};

function argumentsOf(attempt: number, step: number): JsonObject {
  return { book: step, member: step < SHARED ? 0 : attempt, note: 'a note on the loan' };
}

function responseOf(attempt: number, step: number): JsonObject {
  return { loan: `${step < SHARED ? 0 : attempt}-${step}`, text: 'x'.repeat(ANSWER) };
}

function trajectory(attempt: number): TrajectoryModel {
  const stream = new Stream();
  stream.start({ task: TASK.id, attempt });
  for (let step = 0; step < STEPS; step++) {
    const call = `c${step}`;
    const effect = step % 4 === 0 ? 'restorable' : 'pure';
    const name = effect === 'pure' ? 'find' : 'lend';
    const span = stream.add('tool.start', { call, name, arguments: argumentsOf(attempt, step), effect });
    const response = responseOf(attempt, step);
    const m = stream.message('tool', [{ type: 'tool_call_response', id: call, response }], 'tool', { span });
    stream.add('tool.end', { status: 'ok', source: 'live', m }, { span });
  }
  const model = new TrajectoryModel();
  model.push(stream.events);
  return model;
}

const folder = mkdtempSync(path.join(os.tmpdir(), 'recorded-'));
try {
  const trajectories = Array.from({ length: ATTEMPTS }, (_, attempt) => trajectory(attempt + 1));
  const cache = await ContentCache.open(folder);
  let bytes = new Uint8Array();
  for (let round = 0; round < rounds(5); round++) {
    const began = performance.now();
    const writer = await RecordedCallsWriter.open(cache);
    for (const [attempt, model] of trajectories.entries())
      await writer.add({ task: TASK.id, question: TASK.question, rollout: `r${attempt}` }, model, () =>
        Promise.reject(new Error('no blobs')),
      );
    const file = await writer.finish();
    note('write', performance.now() - began);
    bytes = readFileSync(file.path);
    const parsing = performance.now();
    const lines = Buffer.from(bytes).toString().trim().split('\n');
    const values = lines.map((line): unknown => JSON.parse(line));
    note('parse', performance.now() - parsing);
    if (values.length !== ATTEMPTS + 1) throw new Error(`${values.length} lines`);
  }
  for (let round = 0; round < rounds(5); round++) await measure(bytes);
  const row = (label: string, name: string, digits = 2): string[] => [label, spread(measured.get(name) ?? [], digits)];
  console.log(
    table(
      [
        [`${ATTEMPTS} attempts x ${STEPS} calls, ${(bytes.length / 1e6).toFixed(1)} MB`, 'min / median / max'],
        row('baseline: read and parse the file, ms', 'parse', 0),
        row('written from trajectories in memory, ms', 'write', 0),
        row('first session of a task opened, ms', 'first', 0),
        row('each further session, ms', 'next'),
        row('memory that the worker keeps, MB', 'memory', 1),
        ...WORLD_MATCHES.flatMap((match) => [
          row(`answer, ${match}: median of a session (bound: 1), ms`, match, 4),
          row(`answer, ${match}: 99th percentile of a session, ms`, `${match}, p99`),
        ]),
      ],
      [1],
    ),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(bytes: Uint8Array): Promise<void> {
  collectGarbage();
  const before = process.memoryUsage();
  const began = performance.now();
  const recorded = new RecordedCalls(bytes);
  const attempts = await recorded.attemptsFor(TASK);
  open(recorded, attempts, 'sequence');
  note('first', performance.now() - began);
  collectGarbage();
  const after = process.memoryUsage();
  note('memory', (after.heapUsed - before.heapUsed + bytes.length) / 1e6);
  for (const match of WORLD_MATCHES) {
    const opening = performance.now();
    const session = open(recorded, await recorded.attemptsFor(TASK), match);
    note('next', performance.now() - opening);
    const times: number[] = [];
    for (let step = 0; step < STEPS; step++) {
      const name = step % 4 === 0 ? 'lend' : 'find';
      const call = { id: 'c', name, arguments: argumentsOf(ATTEMPTS >> 1, step) };
      const start = performance.now();
      const { response } = await session.call(call, {
        signal: never,
        seed: 1,
        onLog: () => undefined,
        onProgress: () => undefined,
      });
      session.observed(call, response, { made: true, invented: false });
      times.push(performance.now() - start);
    }
    times.sort((one, other) => one - other);
    note(match, times[STEPS >> 1] ?? Number.NaN);
    note(`${match}, p99`, times[Math.floor(STEPS * 0.99) - 1] ?? Number.NaN);
  }
}

function open(
  recorded: RecordedCalls,
  attempts: Awaited<ReturnType<RecordedCalls['attemptsFor']>>,
  match: (typeof WORLD_MATCHES)[number],
): RecordedSession {
  return new RecordedSession({
    world: {
      name: 'desk',
      file: 'desk.world.yaml',
      kind: 'recorded',
      match,
      calls: '',
      blobs: [],
      attempts: attempts.length,
      perturb: [],
    },
    tools: recorded.index.tools,
    attempts,
    readBlob: () => Promise.reject(new Error('no blobs')),
    otherwise: undefined,
  });
}
