// The rows of a transcript, and what they show.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { Heights } from '../../../../webview/components/heights.ts';
import { contentOf, lengthOf } from '../../../../webview/trajectory/transcript/content.ts';
import { TranscriptRows } from '../../../../webview/trajectory/transcript/rows.ts';
import { Stream } from '../../../support/stream.ts';

function loaded(s: Stream): { model: TrajectoryModel; rows: TranscriptRows } {
  const model = new TrajectoryModel();
  model.push(s.events);
  return { model, rows: new TranscriptRows(model) };
}

/** A desk that asks a searcher, which asks a helper. */
function team(): { s: Stream; searcher: number; helper: number; call: number } {
  const s = new Stream();
  s.start();
  s.message('user', 'Who waits?');
  const turn = s.model('I ask.', [{ id: 'c1', name: 'searcher', arguments: {} }], { agent: 'desk' });
  const call = s.toolStart('c1', 'searcher', {}, { agent: 'desk', parent: turn });
  const searcher = s.add('agent.start', { how: 'team' }, { agent: 'desk/searcher#1', parent: call });
  s.message('user', 'Look.', 'given', { agent: 'desk/searcher#1' });
  const helper = s.add('agent.start', { how: 'team' }, { agent: 'desk/searcher#1/helper#1' });
  s.model('Nobody.', [], { agent: 'desk/searcher#1/helper#1' });
  s.add('agent.end', { status: 'ok', ms: 5 }, { agent: 'desk/searcher#1/helper#1', span: helper });
  s.add('agent.end', { status: 'ok', ms: 9 }, { agent: 'desk/searcher#1', span: searcher });
  s.toolEnd(call, 'c1', 'Nobody.', { agent: 'desk' });
  s.model('Done.', [], { agent: 'desk' });
  return { s, searcher, helper, call };
}

describe('the rows of a transcript', () => {
  it('are messages, turns, and sub-agents at their depth', () => {
    const { rows } = loaded(team().s);
    assert.deepEqual(
      rows.all.map(({ kind, depth }) => `${kind} ${depth}`),
      ['message 0', 'turn 0', 'agent 0', 'message 1', 'agent 1', 'turn 2', 'turn 0'],
    );
  });

  it('inside a closed sub-agent are hidden, and its row stands for them', () => {
    const { s, searcher, helper } = team();
    const { rows } = loaded(s);
    assert.equal(rows.shown(new Set([helper])).length, 6);
    assert.deepEqual(
      rows.shown(new Set([searcher])).map(({ kind }) => kind),
      ['message', 'turn', 'agent', 'turn'],
    );
  });

  it('grow with the events, one by one, to the same rows', () => {
    const { s } = team();
    const model = new TrajectoryModel();
    const rows = new TranscriptRows(model);
    const closed = new Set([team().helper]);
    for (const event of s.events) {
      model.push([event]);
      rows.shown(closed);
    }
    assert.deepEqual(rows.all, loaded(s).rows.all);
    assert.deepEqual(rows.shown(closed), loaded(s).rows.shown(closed));
  });

  it('contain their calls, results, and ends', () => {
    const { s, call } = team();
    const { rows, model } = loaded(s);
    const turn = rows.all[1];
    assert.equal(rows.rowOf(call), turn);
    assert.equal(rows.rowOf(model.tools[0]?.end?.seq ?? 0), turn);
    assert.equal(rows.rowOf(1), rows.all[0], 'before the first row');
    assert.equal(rows.rowOf(model.last), rows.all.at(-1));
  });

  it('stand for later events that belong to no step, such as the end', () => {
    const s = new Stream();
    s.start();
    s.model('Done.');
    s.add('score', { scorer: 'world', value: 1, passed: true });
    s.end();
    const { rows } = loaded(s);
    assert.equal(rows.rowOf(s.last)?.kind, 'score');
  });

  it('show a message that belongs to no call', () => {
    const s = new Stream();
    s.start();
    s.message('assistant', 'Hello', 'sampled');
    s.message('tool', [{ type: 'tool_call_response', id: 'gone', response: 'late' }], 'tool');
    const { rows } = loaded(s);
    assert.deepEqual(
      rows.all.map(({ kind }) => kind),
      ['message', 'message'],
    );
  });
});

describe('the content of a row', () => {
  it('folds system messages and reasoning into a line with their length', () => {
    const s = new Stream();
    s.start();
    s.message('system', '# Policy\n\nBe brief.');
    const { rows, model } = loaded(s);
    const row = rows.all[0];
    assert.ok(row !== undefined);
    const [block] = contentOf(model, row).blocks;
    assert.ok(block?.kind === 'folded');
    assert.equal(block.line, 'Policy');
    assert.equal(lengthOf(block.text), '3 lines');
    assert.equal(lengthOf('two words'), '2 words');
  });

  it('shows a call with its arguments and the first line of its result, and the class of an error', () => {
    const s = new Stream();
    s.start();
    s.model('', [
      { id: 'c1', name: 'look', arguments: { what: 'a' } },
      { id: 'c2', name: 'renew', arguments: {} },
    ]);
    s.toolEnd(s.toolStart('c1', 'look', { what: 'a' }), 'c1', 'one\ntwo');
    s.toolEnd(s.toolStart('c2', 'renew', {}), 'c2', 'limit', {
      error: { class: 'tool_error', message: 'limit reached' },
    });
    const { rows, model } = loaded(s);
    const row = rows.all[0];
    assert.ok(row !== undefined);
    const content = contentOf(model, row);
    assert.equal(content.step, 1);
    const [look, renew] = content.blocks;
    assert.ok(look?.kind === 'call' && renew?.kind === 'call');
    assert.deepEqual(
      [look.name, look.args.line, look.result?.line, look.error],
      ['look', 'what: "a"', 'one', undefined],
    );
    assert.deepEqual([renew.result?.line, renew.outcome, renew.error], ['limit reached', 'failed', 'tool error']);
  });

  it('shows what a model is writing', () => {
    const s = new Stream();
    s.start();
    s.add('model.start', { step: 1, model: 'demo', context: [], sampling: {} });
    const { rows, model } = loaded(s);
    const row = rows.all[0];
    assert.ok(row !== undefined);
    const { blocks, detail, time } = contentOf(model, row, () => 'First');
    assert.deepEqual([blocks.map(({ kind }) => kind), detail, time], [['text'], 'running', undefined]);
  });

  it('has no time in a recording without times', () => {
    const s = new Stream();
    s.start({ times: 'none' });
    s.message('user', 'Hello');
    const { rows, model } = loaded(s);
    const row = rows.all[0];
    assert.ok(row !== undefined);
    assert.equal(contentOf(model, row).time, undefined);
  });
});

describe('heights', () => {
  it('are summed, found by position, and changed', () => {
    const heights = new Heights();
    for (let index = 0; index < 100; index++) heights.push(10 + (index % 3));
    const naive = (to: number): number =>
      Array.from({ length: to }, (_, at) => heights.of(at)).reduce((x, y) => x + y, 0);
    heights.set(40, 500);
    heights.set(0, 1);
    for (let index = 0; index <= 100; index++) assert.equal(heights.top(index), naive(index));
    for (let index = 0; index < 100; index++) {
      assert.equal(heights.at(heights.top(index)), index);
      assert.equal(heights.at(heights.top(index + 1) - 0.5), index);
    }
    assert.equal(heights.at(-5), 0);
    assert.equal(heights.at(heights.total + 5), 99);
    assert.equal(new Heights().at(10), 0);
  });
});
