// The outline of a transcript.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { Outline, outlineText } from '../../../../webview/trajectory/transcript/outline.ts';
import { placeOf } from '../../../../webview/trajectory/transcript/rows.ts';
import { Stream } from '../../../support/stream.ts';

/** Asks, calls, asks a sub-agent whose call fails, answers wrongly. */
function attempt(): { readonly model: TrajectoryModel; readonly call: number; readonly inner: number } {
  const s = new Stream();
  s.start();
  s.message('user', 'Renew 17.');
  s.model('Which **member**?', [], { agent: 'desk' });
  s.message('user', 'Ada.');
  s.model('I look.', [{ id: 'c1', name: 'renew', arguments: {} }], { agent: 'desk' });
  const call = s.toolStart('c1', 'renew', {}, { agent: 'desk' });
  s.toolEnd(call, 'c1', 'no', { agent: 'desk', error: { class: 'tool_error', message: 'no' } });
  const agent = 'desk/searcher#1';
  const span = s.add('agent.start', { how: 'team' }, { agent });
  s.model('', [{ id: 'c2', name: 'find', arguments: {} }], { agent, parent: span });
  const inner = s.toolStart('c2', 'find', {}, { agent });
  s.toolEnd(inner, 'c2', '', { agent, error: { class: 'timeout', message: 'too slow' } });
  s.add('agent.end', { status: 'ok', ms: 5 }, { agent, span });
  s.model('It is renewed.', [], { agent: 'desk' });
  s.add('score', { scorer: 'world', value: 0, passed: false });
  s.end();
  const model = new TrajectoryModel();
  model.push(s.events);
  return { model, call, inner };
}

describe('the outline of a transcript', () => {
  it('has answers, calls, errors, sub-agents, the divergence, and the score, in order', () => {
    const { model, call, inner } = attempt();
    const entries = new Outline(model).entries(call);
    const texts = entries.map((entry) => {
      const { step, outcome, text, detail } = outlineText(model, entry, 4);
      return [step, outcome, text, detail].filter((part) => part !== undefined).join(' ');
    });
    assert.deepEqual(texts, [
      '1 Which member?',
      '2 diverges from attempt 4',
      '2 failed renew',
      '2 searcher#1 1 step',
      '3 failed find',
      '4 It is renewed.',
      'failed score 0',
    ]);
    assert.equal(entries[4]?.seq, inner);
    assert.deepEqual(
      entries.map(({ at }) => at),
      entries.map(({ at }) => at).toSorted((a, b) => a - b),
    );
    assert.equal(placeOf(entries, call), 2, 'the call, not the divergence before it');
  });

  it('grows with the recording', () => {
    const { model } = attempt();
    const growing = new TrajectoryModel();
    const outline = new Outline(growing);
    for (const event of model.events) {
      growing.push([event]);
      outline.entries(undefined);
    }
    assert.deepEqual(outline.entries(undefined), new Outline(model).entries(undefined));
  });
});
