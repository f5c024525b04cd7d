/**
 * The cost of a long trajectory: the model per event at any length, the state anywhere, queries, and the hot path of a
 * step.
 */

import { Fingerprint } from '../../src/trace/fingerprint.ts';
import { stateAt } from '../../src/trace/fold.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import { advanceProgress } from '../../src/trace/progress.ts';
import { environmentOf } from '../../src/trace/query/environment.ts';
import { compileQuery } from '../../src/trace/query.ts';
import { spill } from '../../src/trace/spill.ts';
import { report } from '../../src/trace/statistics.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { EMPTY_PROGRESS } from '../../src/trace/summary.ts';
import { readEvent } from '../../src/trace/upgrades.ts';
import { Random } from '../support/random.ts';
import { longStream } from './support/longStream.ts';
import { table } from './support/table.ts';

function timed(run: () => void): number {
  const began = performance.now();
  run();
  return performance.now() - began;
}

const rows: string[][] = [['what', 'at', 'cost']];
const { events } = longStream(48_200); // 337,000 events
const model = new TrajectoryModel();
let done = 0;
for (const until of [1_000, 10_000, 100_000, events.length]) {
  const part = events.slice(done, until);
  const ms = timed(() => {
    for (const event of part) model.push([event]);
  });
  rows.push(['push', `${done} – ${until}`, `${((ms / part.length) * 1000).toFixed(2)} µs per event`]);
  done = until;
}
const random = new Random(5);
for (const near of [1_000, 100_000, events.length]) {
  const seqs = Array.from({ length: 50 }, () => Math.max(1, near - Math.floor(random.next() * 500)));
  const each = (look: (seq: number) => unknown): string =>
    `${(timed(() => seqs.forEach(look)) / seqs.length).toFixed(3)} ms`;
  rows.push([
    'stateAt: spans, usage, status',
    `≈ ${near}`,
    each((seq) => {
      const state = stateAt(model, seq);
      return [state.openSpans, state.usage, state.status];
    }),
  ]);
  rows.push(['stateAt: whole context', `≈ ${near}`, each((seq) => stateAt(model, seq).messages)]);
  rows.push(['stateAt: 500 rows of the world', `≈ ${near}`, each((seq) => stateAt(model, seq).world)]);
}
for (const text of ['tool.name == "tool_3" && tool.arguments.loan_id > 100', 'usage.input_tokens > 1000000', 'so on']) {
  const query = compileQuery(text);
  const ms = timed(() => {
    for (const event of events) query.matches(environmentOf(model, event.seq));
  });
  rows.push([`query ${text}`, `${events.length} events`, `${((ms / events.length) * 1000).toFixed(2)} µs per event`]);
}
const lines = events.slice(0, 50_000).map((event) => JSON.stringify(event));
const perLine = (run: (line: string) => void): string =>
  `${((timed(() => lines.forEach(run)) / lines.length) * 1000).toFixed(2)} µs per event`;
rows.push(['JSON.parse', 'alone', perLine((line) => void JSON.parse(line))]);
rows.push([
  'readEvent',
  'with JSON.parse, checked before',
  perLine((line) => void readEvent(JSON.parse(line), { checked: true })),
]);
rows.push(['readEvent', 'with JSON.parse and check', perLine((line) => void readEvent(JSON.parse(line)))]);
const step = events.slice(0, 70_000);
const perStep = (run: () => void): string => `${((timed(run) / 10_000) * 1000).toFixed(2)} µs per step`;
rows.push(['spill', '10,000 steps', perStep(() => step.forEach((event) => spill(event)))]);
rows.push([
  'advanceProgress',
  '10,000 steps',
  perStep(() => {
    let row = EMPTY_PROGRESS;
    for (let at = 0; at < step.length; at += 4) row = advanceProgress(row, step.slice(at, at + 4));
  }),
]);
rows.push([
  'Fingerprint',
  '10,000 steps',
  perStep(() => {
    const fingerprint = new Fingerprint();
    step.forEach((event) => fingerprint.add(event));
    fingerprint.digest();
  }),
]);
const attempts = Array.from(
  { length: 200_000 },
  (_, i): RolloutRow => ({
    rollout: `r${i}`,
    batch: 'b',
    task: `t${Math.floor(i / 32)}`,
    task_index: 0,
    attempt: (i % 32) + 1,
    try: 1,
    state: 'ended',
    epoch: 1,
    last: 9,
    settles: true,
    rev: i,
    progress: { ...EMPTY_PROGRESS, status: 'done', passed: random.next() < 0.3, reward: 0, tools: ['a', 'b'] },
  }),
);
rows.push(['report', '200,000 attempts', `${timed(() => void report({ batch: 'b', rows: attempts })).toFixed(0)} ms`]);
console.log(table(rows, [2]));
