/** Calls of side models on the page: folded below what they belong to, labeled, and never steps. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { Outline } from '../../../../webview/batch/model/outline.ts';
import { Lanes } from '../../../../webview/trajectory/axis/lanes.ts';
import { spotOfRow } from '../../../../webview/trajectory/debug/spot.ts';
import { StepRows } from '../../../../webview/trajectory/steps/rows.ts';
import { rowText } from '../../../../webview/trajectory/steps/rowText.ts';
import { contentOf } from '../../../../webview/trajectory/transcript/content.ts';
import { TranscriptRows } from '../../../../webview/trajectory/transcript/rows.ts';
import { askingTools, conversation, Stream } from '../../../support/stream.ts';

const { events } = conversation();
const model = new TrajectoryModel();
model.push(events);
const starts = events.flatMap(({ kind, seq }) => (kind === 'model.start' ? [seq] : []));
const [, user, , judge] = starts as [number, number, number, number];
const noText = (): undefined => undefined;

suite('side calls on the page', () => {
  test('are rows below their step, with label, reply, and tokens', () => {
    const rows = new StepRows(model);
    const all = rows.all.map((row) => {
      const { name, text, tokens, agent } = rowText(model, row, noText);
      return [row.kind, row.depth, name, text, tokens?.input, agent];
    });
    assert.deepEqual(all.slice(0, 6), [
      ['message', 0, 'user', 'Renew my loan.', undefined, undefined],
      ['step', 0, '', 'Which loan?', 100, undefined],
      ['side', 1, 'Simulated user', 'user-model', 40, undefined],
      ['message', 0, 'user', 'Loan 17, please.', undefined, undefined],
      ['step', 0, '', 'Loan 17 is renewed.', 100, undefined],
      ['side', 1, 'Judge', '{"score": 1, "explanation": "It is renewed."}', 40, undefined],
    ]);
    const prompt = events.find((event) => event.kind === 'message' && event.data.side === 'judge')!.seq;
    assert.equal(rows.all[rows.indexOf(prompt)]?.seq, judge, 'its prompt is shown with it');
    assert.deepEqual(
      rows.all.filter(({ kind }) => kind === 'side').map((row) => spotOfRow(model, row)),
      [undefined, undefined],
    );
  });

  test('are folded rows of the transcript', () => {
    const rows = new TranscriptRows(model);
    assert.deepEqual(
      rows.all.map(({ kind }) => kind),
      ['message', 'turn', 'side', 'message', 'turn', 'side', 'score'],
    );
    const { title, detail, blocks } = contentOf(model, rows.rowOf(judge)!);
    assert.deepEqual([title, detail], ['Judge', 'judge-model · 40 → 4 tokens']);
    assert.deepEqual(
      blocks.map((block) => block.kind === 'folded' && [block.label, block.text]),
      [
        ['Prompt', 'system: You are a judge.'],
        ['Reply', '{"score": 1, "explanation": "It is renewed."}'],
      ],
    );
    assert.equal(contentOf(model, rows.rowOf(starts[0]!)!).title, 'Agent', 'there is one agent');
  });

  test('are not steps of the time axis or of the outline of an attempt', () => {
    const lanes = new Lanes(model);
    lanes.advance();
    assert.deepEqual(
      lanes.steps.map(({ index }) => index),
      [1, 2],
    );
    assert.deepEqual(
      lanes.lanes.find(({ kind }) => kind === 'model')?.items.map(({ label }) => label),
      ['demo', 'Simulated user', 'demo', 'Judge'],
    );
    const outline = new Outline();
    outline.push(events);
    assert.equal(user > 0 && outline.calls.length, 2);
  });

  test('of the code of tools are below their tool call, with their own prompts', () => {
    const asking = new TrajectoryModel();
    asking.push(askingTools().events);
    const rows = new StepRows(asking);
    const shown = rows.all.map((row) => [row.kind, row.depth, rowText(asking, row, noText).name]);
    assert.deepEqual(shown.slice(1, 6), [
      ['step', 0, '2 calls'],
      ['call', 1, 'grade'],
      ['call', 1, 'rank'],
      ['side', 2, 'Judge in grade'],
      ['side', 2, 'Judge in rank'],
    ]);
    const transcript = new TranscriptRows(asking);
    const sides = transcript.all.filter(({ kind }) => kind === 'side').map((row) => contentOf(asking, row));
    assert.deepEqual(
      sides.map(({ detail, blocks }) => [detail, blocks[0]?.kind === 'folded' && blocks[0].text]),
      [
        ['judge-model · in grade · 40 → 4 tokens', 'system: Is a polite?'],
        ['judge-model · in rank · 40 → 4 tokens', 'system: Is b polite?'],
      ],
    );
    const lanes = new Lanes(asking);
    lanes.advance();
    assert.deepEqual(
      lanes.lanes.find(({ kind }) => kind === 'model')?.items.map(({ label }) => label),
      ['demo', 'Judge', 'Judge', 'demo'],
    );
  });

  test('that are asked at once have the prompts that they see', () => {
    const s = new Stream();
    s.model('', [{ id: 'c', name: 'grade', arguments: {} }], { agent: 'desk' });
    const call = s.toolStart('c', 'grade', {}, { agent: 'desk' });
    const prompts = ['one', 'two'].map((text) => {
      const m = s.message('user', text, 'given', { agent: 'judge' }, { to: 'judge', side: 'judge' });
      return { m, seq: s.last };
    });
    const spans = prompts.map(({ m }) =>
      s.add(
        'model.start',
        { step: 1, side: 'judge', context: [[m, m]], sampling: {} },
        { agent: 'judge', parent: call },
      ),
    );
    const both = new TrajectoryModel();
    both.push(s.events);
    const [rows, transcript] = [new StepRows(both), new TranscriptRows(both)];
    assert.deepEqual(
      prompts.map(({ seq }) => [rows.all[rows.indexOf(seq)]?.seq, transcript.rowOf(seq)?.seq]),
      spans.map((span) => [span, span]),
    );
  });
});
