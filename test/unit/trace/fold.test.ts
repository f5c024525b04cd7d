import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { stateAt } from '../../../src/trace/fold.ts';
import { rowName } from '../../../src/trace/model/changes.ts';
import { textOf } from '../../../src/trace/model/messages.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { lendingDesk, Stream } from '../../support/stream.ts';

function modelOf(stream: Stream): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(stream.events);
  return model;
}

function texts(model: TrajectoryModel, seq: number, agent?: string): string[] {
  return stateAt(model, seq, agent).messages.map((entry) => textOf(entry.event.data.parts) || `m${entry.m}`);
}

describe('stateAt', () => {
  it('returns the context, spans, usage, and value at every seq, like a replay of the events up to there', () => {
    const stream = lendingDesk();
    const model = modelOf(stream);
    for (let seq = 0; seq <= stream.last; seq++) {
      const upTo = new TrajectoryModel();
      upTo.push(stream.events.slice(0, seq));
      const state = stateAt(model, seq);
      assert.deepEqual(
        state.openSpans.map((span) => span.seq),
        upTo.openSpans().map((span) => span.seq),
        `spans at ${seq}`,
      );
      assert.deepEqual(
        state.messages.map((entry) => entry.m),
        upTo.messages.map((entry) => entry.m),
        `messages at ${seq}`,
      );
      assert.deepEqual(state.usage, upTo.usageAt());
      assert.deepEqual(state.world, upTo.worldChanges.at(Infinity));
      assert.equal(state.status, upTo.end?.data.status ?? 'running');
      assert.equal(state.reward, upTo.end?.data.reward ?? upTo.scores.at(-1)?.data.value ?? null);
    }
  });

  it('refuses an unknown seq', () => {
    const model = modelOf(lendingDesk());
    for (const seq of [-1, 1.5, model.last + 1])
      assert.throws(
        () => stateAt(model, seq),
        (error) => StudioError.is(error, 'not_found'),
      );
  });

  it('follows a context that skips and reorders', () => {
    const s = new Stream();
    s.message('system', 'system');
    s.message('user', 'one');
    s.message('assistant', 'two', 'sampled');
    s.message('user', 'summary', 'compacted');
    s.model('answer', [], {
      context: [
        [1, 1],
        [4, 4],
        [2, 2],
      ],
    });
    s.message('user', 'three');
    assert.deepEqual(texts(modelOf(s), s.last), ['system', 'summary', 'one', 'answer', 'three']);
    assert.deepEqual(texts(modelOf(s), 4), ['system', 'one', 'two', 'summary']);
  });

  it('shows an edited message from its edit on', () => {
    const s = new Stream();
    s.message('user', 'question');
    s.model('wrong');
    const before = s.last;
    s.add('hold', { why: 'breakpoint', side: 'after' });
    s.add('edit', { of: { m: 2 }, path: '/parts/0/content', value: 'right' });
    s.message('assistant', 'right', 'edited');
    const model = modelOf(s);
    assert.deepEqual(texts(model, before), ['question', 'wrong']);
    assert.deepEqual(texts(model, s.last), ['question', 'right']);
    s.add('release', { how: 'continue', held_ms: 1 });
    s.model('next', [], {
      context: [
        [1, 1],
        [3, 3],
      ],
    });
    assert.deepEqual(texts(modelOf(s), s.last), ['question', 'right', 'next']);
    assert.equal(stateAt(model, before + 1).status, 'held');
    assert.equal(stateAt(model, before + 1).hold!.event.data.why, 'breakpoint');
  });

  it('keeps a separate context for each agent', () => {
    const s = new Stream();
    s.message('system', 'for all');
    s.message('system', 'you are a', 'given', { agent: 'a' });
    s.model('a speaks', [], { agent: 'a', context: [[1, 2]] });
    s.message('system', 'you are b', 'given', { agent: 'b' });
    s.model('b speaks', [], {
      agent: 'b',
      context: [
        [1, 1],
        [4, 4],
      ],
    });
    s.message('user', 'more for a', 'given', { agent: 'a' });
    const model = modelOf(s);
    assert.deepEqual(texts(model, s.last, 'a'), ['for all', 'you are a', 'a speaks', 'more for a']);
    assert.deepEqual(texts(model, s.last, 'b'), ['for all', 'you are b', 'b speaks']);
    assert.equal(stateAt(model, s.last).agent, 'a');
  });

  it('folds the changes of a row into one against the start', () => {
    const s = new Stream();
    s.diff([
      { table: 'loans', key: 1, op: 'update', before: { n: 1 }, after: { n: 2 } },
      { table: 'loans', key: 2, op: 'insert', after: { n: 9 } },
    ]);
    s.diff([
      { table: 'loans', key: 1, op: 'update', before: { n: 2 }, after: { n: 3 } },
      { table: 'loans', key: 2, op: 'delete', before: { n: 9 } },
    ]);
    s.diff([
      { table: 'loans', key: 1, op: 'delete', before: { n: 3 } },
      { file: 'a.txt', key: 'a.txt', op: 'delete', before: 'x' },
    ]);
    s.diff([{ table: 'loans', key: 1, op: 'insert', after: { n: 4 } }]);
    const model = modelOf(s);
    const loan = rowName({ table: 'loans', key: 1 });
    assert.deepEqual(stateAt(model, 1).world.get(loan), {
      table: 'loans',
      key: 1,
      op: 'update',
      before: { n: 1 },
      after: { n: 2 },
      seqs: [1],
    });
    assert.equal(stateAt(model, 1).world.size, 2);
    assert.deepEqual([...stateAt(model, 2).world.keys()], [loan]);
    assert.deepEqual(stateAt(model, 3).world.get(loan), {
      table: 'loans',
      key: 1,
      op: 'delete',
      before: { n: 1 },
      seqs: [1, 2, 3],
    });
    assert.deepEqual(stateAt(model, 4).world.get(loan), {
      table: 'loans',
      key: 1,
      op: 'update',
      before: { n: 1 },
      after: { n: 4 },
      seqs: [1, 2, 3, 4],
    });
  });
});
