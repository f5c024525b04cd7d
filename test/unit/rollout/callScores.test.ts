/** Scores of single calls: recorded for trainers, shown with their calls, and not counted for the rollout. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Scorer } from '../../../src/rollout/ports.ts';
import { follow } from '../../../src/store/logic/streamGuard.ts';
import { stateAt } from '../../../src/trace/fold.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { advanceProgress } from '../../../src/trace/progress.ts';
import { environmentOf } from '../../../src/trace/query/environment.ts';
import { compileQuery } from '../../../src/trace/query.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { EMPTY_PROGRESS } from '../../../src/trace/summary.ts';
import { stepText, trajectoryText } from '../../../src/trace/text.ts';
import { end, type Kit, kit, NumberWorld, ScriptedModel } from '../../support/rolloutKit.ts';

const scorer: Scorer = {
  name: 'steps',
  score: ({ messages }) => {
    const ids = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool_call' ? [part.id] : [])));
    return Promise.resolve({
      value: 1,
      passed: true,
      calls: [
        { call: ids[0]!, value: -0.5, passed: false, explanation: 'Too early.' },
        { call: ids[1]!, value: 0.25, passed: null },
        { call: 'unknown', value: 9, passed: null },
      ],
    });
  },
};

function run(): Kit {
  const model = new ScriptedModel([
    { calls: [{ name: 'add', arguments: { n: 1 } }] },
    { calls: [{ name: 'add', arguments: { n: 2 } }] },
    { text: 'Done.' },
  ]);
  return kit({ model, world: new NumberWorld(), scorer });
}

describe('scores of single calls', () => {
  it('are recorded with the spans of their calls, before the score of the rollout', async () => {
    const events = await run().run();
    const starts = events.filter(({ kind }) => kind === 'tool.start').map(({ seq }) => seq);
    const scores = events.filter((event) => event.kind === 'score');
    assert.deepEqual(
      scores.map(({ span, data }) => [span, data.value, data.passed]),
      [
        [starts[0], -0.5, false],
        [starts[1], 0.25, null],
        [undefined, 1, true],
      ],
    );
    assert.deepEqual([end(events).reward, end(events).passed], [1, true]);
    const model = new TrajectoryModel();
    model.push(events);
    assert.deepEqual(
      model.scores.map(({ data }) => data.value),
      [1],
    );
    assert.equal(stateAt(model, scores[1]!.seq).reward, null, 'the rollout has none yet');
    assert.equal(model.scoresOf(starts[0]!)[0]?.data.explanation, 'Too early.');
  });

  it('are no cause, no second score, and no score before scoring', async () => {
    const events = await run().run();
    const ofCall = events.find((event) => event.kind === 'score')!;
    assert.equal(advanceProgress(EMPTY_PROGRESS, [ofCall]).cause, undefined);
    const guard = { from: 1, open: {} };
    assert.deepEqual(follow(guard, 1, [ofCall]), { guard });
    assert.ok('problem' in follow(guard, 1, [{ ...ofCall, span: undefined } as unknown as TraceEvent]));
  });

  it('are shown with their calls, and found by conditions', async () => {
    const events = await run().run();
    const model = new TrajectoryModel();
    model.push(events);
    const text = (written: string): string => written.replaceAll(/\s+/g, ' ');
    const step = text(stepText(model, 1, { rollout: 'r1', width: 100, color: false }));
    assert.match(step, /score ✗ -0\.5 by steps Too early\./);
    assert.equal(
      text(trajectoryText(model, { rollout: 'r1', width: 100, color: false })).match(/by steps/g)?.length,
      3,
    );
    const query = compileQuery('tool.reward < 0');
    const found = events.filter(({ seq }) => query.matches(environmentOf(model, seq)).matched);
    assert.deepEqual(
      found.map(({ kind, span }) => [kind, model.span(span!)?.kind]),
      [['score', 'tool']],
    );
  });

  it('are not repeated by a rollout that is resumed after them', async () => {
    const whole = run();
    const events = await whole.run();
    const at = events.findIndex((event) => event.kind === 'score' && event.span === undefined);
    const again = kit({
      model: new ScriptedModel([]),
      world: new NumberWorld(),
      scorer: { name: 'never', score: () => Promise.reject(new Error('scored again')) },
      job: { how: 'resumed', epoch: 2 },
      after: { events: events.slice(0, at + 1), blobs: new Map(whole.recorder.blobs) },
    });
    assert.equal(end(await again.run()).reward, 1);
  });
});
