/** Predictions of calls are no rewards, and are marked where they were wrong; results say where they come from. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import {
  callsBefore,
  otherScoresOf,
  predictionsOf,
  wasPredictedOtherwise,
} from '../../../../src/trace/prediction/ofCall.ts';
import { placeLines } from '../../../../src/trace/prediction/text.ts';
import { provenanceOf } from '../../../../src/trace/provenance.ts';
import { environmentOf } from '../../../../src/trace/query/environment.ts';
import { compileExpression } from '../../../../src/trace/query.ts';
import { stepText } from '../../../../src/trace/text.ts';
import { Stream } from '../../../support/stream.ts';

const TASK = { id: 'a', question: '', meta: {} };

/** Two calls of one turn, of which the second ends first, and a third call with a prediction and a reward. */
function trajectory(): { readonly model: TrajectoryModel; readonly calls: readonly number[] } {
  const s = new Stream();
  s.start();
  s.message('user', 'Go.');
  s.model('', [
    { id: 'a', name: 'look', arguments: { id: 1 } },
    { id: 'b', name: 'look', arguments: { id: 2 } },
  ]);
  const first = s.toolStart('a', 'look', { id: 1 });
  const second = s.toolStart('b', 'look', { id: 2 });
  s.toolEnd(second, 'b', 'two', { source: 'simulated' });
  s.toolEnd(first, 'a', 'one', { injected: 'stale', result: 'real' });
  s.model('', [{ id: 'c', name: 'look', arguments: { id: 3 } }]);
  const third = s.toolStart('c', 'look', { id: 3 });
  s.toolEnd(third, 'c', { id: 3, name: 'three' });
  s.add('score', { scorer: 'rewards', value: 0.5, passed: null }, { span: third });
  s.add(
    'score',
    {
      scorer: 'prediction',
      value: 0.25,
      passed: null,
      parts: { status: 1, keys: 0.5, deterministic: 1 },
      prediction: { world: 'sim', how: 'shadow', response: '{"id": 3}' },
    },
    { span: third },
  );
  s.end();
  const model = new TrajectoryModel();
  model.push(s.events);
  return { model, calls: [first, second, third] };
}

describe('predictions of a call', () => {
  const { model, calls } = trajectory();
  const [first = 0, second = 0, third = 0] = calls;
  const span = (seq: number) => {
    const found = model.span(seq);
    assert.ok(found?.kind === 'tool');
    return found;
  };

  it('are no rewards', () => {
    assert.deepEqual(
      otherScoresOf(model, third).map(({ data }) => data.value),
      [0.5],
    );
    assert.equal(predictionsOf(model, third).length, 1);
    const reward = compileExpression('tool.reward').evaluate(
      environmentOf(model, model.span(third)!.end!.seq + 2, TASK),
    );
    assert.deepEqual(reward, { ok: true, value: 0.5 });
  });

  it('are wrong if the status, the keys, or deterministic values disagree', () => {
    assert.deepEqual(
      calls.map((seq) => wasPredictedOtherwise(model, seq)),
      [false, false, true],
    );
  });

  it('follow the calls that ended before, in the order of their ends', () => {
    assert.deepEqual(
      callsBefore(model, span(third)).map(({ seq }) => seq),
      [second, first],
    );
    assert.deepEqual(
      callsBefore(model, span(first)).map(({ seq }) => seq),
      [second],
    );
  });

  it('are below the result in text, with the places that differ in full', () => {
    const text = stepText(model, 2, { width: 100, color: false, rollout: 'r' });
    assert.match(text, /predicted {2}\{\n\s+"id": 3\n\s+\} +by sim, status 100%, keys 50%, deterministic values 100%/);
    assert.match(text, /− \/name: real three \(key\)/);
    assert.match(text, /0\.50? by rewards/);
  });

  it('have a line for each place', () => {
    const places = [{ path: '/due', class: 'deterministic', predicted: 1, real: 2, verdict: 'differs' } as const];
    assert.deepEqual(placeLines({ places, more: 1 }), [
      '≠ /due: predicted 1, real 2 (deterministic)',
      '… and 1 more place',
    ]);
  });
});

describe('provenance', () => {
  it('says what did not come from the tool', () => {
    const { model, calls } = trajectory();
    const of = calls.map((seq) => {
      const span = model.span(seq);
      return span?.kind === 'tool' ? provenanceOf(model, span) : undefined;
    });
    assert.deepEqual(of, [['injected'], ['simulated'], []]);
  });
});
