import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../../../src/common/json.ts';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { callDifference } from '../../../../src/trace/prediction/callDifference.ts';
import {
  PredictionsOfRollout,
  PredictionTallies,
  predictedCalls,
  predictionAccuracy,
} from '../../../../src/trace/prediction/statistics.ts';
import { predictedTools } from '../../../../src/trace/schema/prediction.ts';
import type { EventData } from '../../../../src/trace/schema.ts';
import { Stream } from '../../../support/stream.ts';

interface Call {
  readonly tool: string;
  readonly predicted?: Json;
  readonly real: Json;
  readonly value: number | null;
}

/** A rollout with calls of tools, each with what was predicted for it and how accurate that was. */
function streamOf(calls: readonly Call[], fork = 0): Stream {
  const stream = new Stream();
  stream.start(fork === 0 ? {} : { fork: { rollout: 'parent', seq: fork } });
  for (const [index, { tool, predicted, real, value }] of calls.entries()) {
    const id = `c${index}`;
    stream.model('', [{ id, name: tool, arguments: { loan: 'L-1' } }]);
    const span = stream.toolStart(id, tool, { loan: 'L-1' });
    stream.toolEnd(span, id, real);
    const score: EventData['score'] = {
      scorer: 'prediction',
      value,
      passed: null,
      parts: value === null ? {} : { status: 1, keys: value },
      prediction: { world: 'twin', how: 'shadow', ...(predicted === undefined ? {} : { response: predicted }) },
    };
    stream.add('score', score, { span });
  }
  return stream;
}

function modelOf(calls: readonly Call[], fork = 0): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(streamOf(calls, fork).events);
  return model;
}

const CALLS: readonly Call[] = [
  { tool: 'find', predicted: { title: 'Emma' }, real: { title: 'Ulysses' }, value: 1 },
  { tool: 'renew', predicted: { title: 'Emma' }, real: { title: 'Ulysses' }, value: 0.5 },
  { tool: 'renew', real: 'Error (tool_error): no', value: null },
  { tool: 'list', predicted: [], real: [], value: 1 },
];

describe('predicted calls', () => {
  it('are counted by group, the worst first; those without a value do not count in the mean', () => {
    const calls = predictedCalls(modelOf(CALLS), 'r1');
    assert.deepEqual(
      calls.map(({ tool, turn, value }) => [tool, turn, value]),
      [
        ['find', 1, 1],
        ['renew', 2, 0.5],
        ['renew', 3, null],
        ['list', 4, 1],
      ],
    );
    assert.deepEqual(
      predictionAccuracy(calls, ({ tool }) => tool),
      [
        { name: 'renew', calls: 2, failed: 1, accuracy: 0.5, parts: { status: 1, keys: 0.5 }, right: 0 },
        { name: 'find', calls: 1, failed: 0, accuracy: 1, parts: { status: 1, keys: 1 }, right: 1 },
        { name: 'list', calls: 1, failed: 0, accuracy: 1, parts: { status: 1, keys: 1 }, right: 1 },
      ],
    );
    assert.deepEqual(
      predictionAccuracy(calls, ({ turn }) => String(turn)).map(({ name, accuracy }) => [name, accuracy]),
      [
        ['2', 0.5],
        ['1', 1],
        ['4', 1],
        ['3', null],
      ],
    );
  });

  it('have the same accuracy from the sums of their rollouts', () => {
    const tallies = new PredictionTallies();
    const parts = [CALLS.slice(0, 2), CALLS.slice(2)];
    for (const part of parts) {
      const sums = new PredictionsOfRollout();
      for (const event of streamOf(part).events) sums.add(event);
      tallies.addSums(predictedTools.parse(structuredClone(sums.sums())));
    }
    const calls = parts.flatMap((part, index) => predictedCalls(modelOf(part), `r${index}`));
    assert.deepEqual(
      tallies.accuracies(),
      predictionAccuracy(calls, ({ tool }) => tool),
    );
    assert.deepEqual(tallies.overall(), predictionAccuracy(calls, () => '')[0]);
  });

  it('are not those of the parent of a fork', () => {
    const calls = predictedCalls(modelOf(CALLS, 12), 'r2');
    assert.deepEqual(
      calls.map(({ turn }) => turn),
      [3, 4],
    );
  });

  it('are compared after the calls that ended before them', () => {
    const model = modelOf(CALLS);
    const [find, renew] = model.tools;
    const first = callDifference(model, find!, { title: 'Emma' });
    assert.deepEqual([first?.parts.existing, first?.accuracy], [1, 1]);
    const second = callDifference(model, renew!, { title: 'Emma' });
    assert.deepEqual([second?.parts.deterministic, second?.accuracy], [0, 0.5]);
  });
});
