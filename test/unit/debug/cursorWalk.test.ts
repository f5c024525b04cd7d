// n steps forward and n back end at the same place: in every fixture, and in random streams.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { RolloutCursor } from '../../../src/debug/cursor.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { Stops } from '../../../src/trace/stops.ts';
import { walkAndReturn } from '../../support/cursorWalk.ts';
import { Random } from '../../support/random.ts';
import { lendingDesk, Stream } from '../../support/stream.ts';
import { readTauBench } from '../../support/tauBench.ts';
import { task } from '../../support/trajectories.ts';

const SEEDS = 40;
const MOVES = 60;

function modelOf(events: readonly TraceEvent[]): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(events);
  return model;
}

/**
 * A rollout of up to 40 steps: parallel calls, calls that fail or never end, members of a team in calls, messages in
 * between.
 */
function randomStream(random: Random): Stream {
  const s = new Stream();
  const chance = (share: number): boolean => random.next() < share;
  s.start();
  s.message('user', 'Go.');
  const steps = 1 + Math.floor(random.next() * 40);
  for (let step = 0; step < steps; step++) {
    const calls = Array.from({ length: Math.floor(random.next() * 4) }, (_, index) => ({
      id: `c${step}-${index}`,
      name: `tool_${index}`,
      arguments: { step },
    }));
    s.model('…', calls);
    const open = calls.map((call) => ({ call, span: s.toolStart(call.id, call.name, call.arguments) }));
    for (const { call, span } of open.sort(() => random.next() - 0.5)) {
      if (chance(0.2)) {
        const agent = `member#${step}`;
        const began = s.add('agent.start', { how: 'team' }, { agent, parent: span });
        s.model('a member', [], { agent, parent: began });
        s.add('agent.end', { status: 'ok' }, { agent, span: began });
      }
      if (chance(0.05)) continue; // lost with its worker
      s.toolEnd(span, call.id, 'done', chance(0.2) ? { error: { class: 'tool_error', message: 'no' } } : {});
      if (chance(0.3)) s.diff([{ table: 't', key: step, op: 'update', before: {}, after: {} }], span);
    }
    if (chance(0.1)) s.message('user', 'And then?');
  }
  if (chance(0.8)) s.end();
  return s;
}

describe('a walk of the cursor and back again', () => {
  it('returns in the lending desk', async () => {
    for (let seed = 1; seed <= SEEDS; seed++)
      assert.ok((await walkAndReturn(modelOf(lendingDesk().events), seed, MOVES, 'the lending desk')) > 0);
  });

  it('returns in every recording of the fixtures', async () => {
    const file = path.join(import.meta.dirname, '../../fixtures/tau-bench/two-tasks.json');
    const entries = JSON.parse(readFileSync(file, 'utf8')) as unknown[];
    const { rollouts } = await readTauBench(entries, 'two-tasks.json', { batch: 'b1', at: 0 });
    let moved = 0;
    for (const [index, { task, attempt, events }] of rollouts.entries()) {
      for (let seed = 1; seed <= SEEDS; seed++)
        moved += await walkAndReturn(modelOf(events), index * SEEDS + seed, MOVES, `${task}/${attempt}`);
    }
    assert.ok(moved > rollouts.length * SEEDS, `${moved} moves`);
  });

  it('returns in random streams', async () => {
    const { seed } = new Random(); // TEST_SEED reproduces a failure
    for (let round = 0; round < 150; round++) {
      const stream = randomStream(new Random(seed + round));
      await walkAndReturn(modelOf(stream.events), seed + round, MOVES, `TEST_SEED=${seed}, round ${round}`);
    }
  });

  it('leads to the beginning when nothing was walked', () => {
    const model = modelOf(lendingDesk().events);
    const { end, first } = Stops.of(model);
    assert.ok(end !== undefined);
    const cursor = new RolloutCursor(model, task('t'), end);
    let at = Infinity;
    while (cursor.back()) {
      assert.ok(cursor.place.at < at, 'always further back');
      ({ at } = cursor.place);
    }
    assert.deepEqual(cursor.place, first);
  });
});
