import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { StudioError } from '../../../src/common/errors.ts';
import { type AnyEvent, TrajectoryModel } from '../../../src/trace/model.ts';
import { columns, harmlessBlock, shorten, wrap } from '../../../src/trace/text/terminal.ts';
import { stepText, trajectoryText } from '../../../src/trace/text.ts';
import { lendingDesk, Stream } from '../../support/stream.ts';

const PLAIN = { width: 90, color: false } as const;

function modelOf(events: readonly AnyEvent[]): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(events);
  return model;
}

/** Compares with the file of that name; a missing one is written, to be reviewed and committed. */
function golden(name: string, text: string): void {
  const file = fileURLToPath(new URL(`golden/${name}.txt`, import.meta.url));
  if (!existsSync(file)) {
    writeFileSync(file, text);
    assert.fail(`${file} was missing and has been written: look at it and run again`);
  }
  assert.equal(text, readFileSync(file, 'utf8').replaceAll('\r\n', '\n'));
}

/** Every feature: a team, holds, edits, a resumed lease, a big result, a truncated end. */
function eventful(): Stream {
  const s = new Stream();
  s.start({ task: 'two-members', attempt: 3, try: 2 });
  s.add('rollout.lease', { epoch: 2, worker: 'w2', how: 'resumed' });
  s.message('user', 'A long question. '.repeat(40));
  s.add('model.start', { step: 1, model: 'demo', context: [[1, 1]], sampling: {} }, { agent: 'desk' });
  s.message(
    'assistant',
    [
      { type: 'reasoning', content: 'Who knows?\nThe searcher.' },
      { type: 'tool_call', id: 'c1', name: 'searcher', arguments: { query: 'Ada' } },
      { type: 'tool_call', id: 'cx', name: 'forgotten', arguments: {} },
    ],
    'sampled',
    { agent: 'desk', span: 4 },
  );
  s.add(
    'model.end',
    {
      status: 'ok',
      m: 2,
      finish_reason: 'length',
      usage: { input_tokens: 18_000, output_tokens: 200, cached_tokens: 10 },
      ms: 65_000,
      queue_ms: 4_000,
      retries: [{ at: 1, ms: 5, class: 'rate_limit' }],
      trainable: false,
      why_not: 'cut off',
      source: 'live',
    },
    { agent: 'desk', span: 4 },
  );
  const call = s.toolStart('c1', 'searcher', { query: 'Ada' }, { agent: 'desk' });
  s.add('hold', { why: 'breakpoint', breakpoint: 'bp1', side: 'before' }, { agent: 'desk', span: call });
  s.add('edit', { of: { seq: call }, path: '/arguments/query', value: 'Ada Byron', by: 'me' }, { agent: 'desk' });
  s.add('release', { how: 'continue', by: 'me', held_ms: 90_000 }, { agent: 'desk', span: call });
  const agent = s.add('agent.start', { how: 'team' }, { agent: 'desk/searcher#1', parent: call });
  s.model('Found her.', [], { agent: 'desk/searcher#1', parent: agent });
  s.add('agent.end', { status: 'ok', ms: 900 }, { agent: 'desk/searcher#1', span: agent });
  s.add('log', { stream: 'err', text: 'one\ntwo\nthree\nfour\nfive' }, { agent: 'desk', span: call });
  s.diff(
    [
      { table: 'members', key: 3, op: 'insert', after: { name: 'Ada' } },
      { file: 'notes/a.txt', key: 'notes/a.txt', op: 'delete', before: 'x' },
      { table: 'loans', key: { copy: 1 }, op: 'update', before: 1, after: 2 },
    ],
    call,
  );
  s.add(
    'tool.end',
    {
      status: 'ok',
      result: {
        $blob: 'a'.repeat(64),
        bytes: 90_000,
        media: 'application/json',
        head: '{"id": 3, "name": "Ada Byron"',
      },
      ms: 2_000,
      source: 'live',
      cut: 4096,
      injected: 'rule 2',
    },
    { agent: 'desk', span: call },
  );
  s.add(
    'model.start',
    {
      step: 3,
      model: 'demo',
      endpoint: 'http://gpu-1:8000/v1',
      context: [
        [1, 3],
        [5, 5],
      ],
      sampling: { temperature: 0.7 },
    },
    { agent: 'desk' },
  );
  s.add(
    'model.end',
    {
      status: 'error',
      ms: 10,
      trainable: false,
      source: 'live',
      error: { class: 'model_error', message: 'no such model' },
    },
    { agent: 'desk', span: s.last },
  );
  s.add('score', {
    scorer: 'judge',
    value: null,
    passed: null,
    error: { class: 'infrastructure', message: 'the judge did not answer' },
  });
  s.end({
    status: 'truncated',
    passed: null,
    reward: null,
    answer: null,
    touched: true,
    error: {
      class: 'limit',
      message: '30 steps are over',
      place: { file: 'agents/desk.agent.yaml', line: 9, column: 3 },
    },
    totals: {
      steps: 3,
      tool_calls: 1,
      input_tokens: 18_100,
      output_tokens: 210,
      cached_tokens: 10,
      ms: 3_725_000,
      held_ms: 90_000,
      cost: 0.012_345,
    },
  });
  return s;
}

describe('trajectoryText', () => {
  it('matches its golden file', () =>
    golden('lending-desk', trajectoryText(modelOf(lendingDesk().events), { ...PLAIN, rollout: 'r1' })));
  it('shows every kind of event', () => golden('eventful', trajectoryText(modelOf(eventful().events), PLAIN)));
  it('stays readable in a narrow terminal', () =>
    golden('narrow', trajectoryText(modelOf(lendingDesk().events), { width: 44, color: false })));

  it('shows the progress of a running rollout', () => {
    const { events } = lendingDesk();
    assert.match(trajectoryText(modelOf(events.slice(0, 6)), PLAIN), /▷ running[\s\S]*waiting for the model/);
    assert.match(trajectoryText(modelOf(events.slice(0, 9)), PLAIN), /→ {2}find_member[\s\S]*… {2}running/);
    const held = new Stream();
    held.start();
    held.add('hold', { why: 'pause', side: 'before' });
    assert.match(trajectoryText(modelOf(held.events), PLAIN), /‖ held/);
    assert.match(trajectoryText(new TrajectoryModel(), PLAIN), /running/);
  });

  it('keeps to the width, with and without color', () => {
    for (const width of [40, 63, 120]) {
      for (const events of [lendingDesk().events, eventful().events]) {
        const plain = trajectoryText(modelOf(events), { width, color: false });
        for (const line of plain.split('\n')) assert.ok(columns(line) <= width, `${width}: ${line}`);
        const coloured = trajectoryText(modelOf(events), { width, color: true });
        assert.notEqual(coloured, plain);
        assert.equal(coloured.replaceAll(/\x1b\[\d+m/g, ''), plain);
      }
    }
  });

  it('contains no control sequences from its data', () => {
    const s = new Stream();
    s.start({ task: 'evil\x1b[2J\nsecond' });
    s.message('user', 'clear \x1b[2J\x1b]0;title\x07 \u202egnp.exe\r');
    s.toolEnd(s.toolStart('a', 'f\x1b[31m', { key: '\u009b31m' }), 'a', 'bell \x07');
    const text = trajectoryText(modelOf(s.events), PLAIN);
    assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    assert.match(text, /clear ␛\[2J/);
  });

  it('shows events of unknown kinds raw', () => {
    const dream = { seq: 1, v: 1, at: 0, kind: 'dream', data: { of: 'sheep' }, unknown: true } as const;
    assert.match(trajectoryText(modelOf([dream]), PLAIN), /dream \{"of":"sheep"\}/);
  });
});

describe('stepText', () => {
  it('shows one step in full', () =>
    golden('step-2', stepText(modelOf(lendingDesk().events), 2, { ...PLAIN, rollout: 'r1' })));

  it('omits nothing', () => {
    const s = new Stream();
    s.model('calling', [{ id: 'a', name: 'f', arguments: {} }]);
    const lines = Array.from({ length: 200 }, (_, i) => `line ${i}`).join('\n');
    s.toolEnd(s.toolStart('a', 'f', {}), 'a', lines);
    const model = modelOf(s.events);
    assert.match(stepText(model, 1, PLAIN), /line 199/);
    assert.doesNotMatch(trajectoryText(model, PLAIN), /line 199/);
  });

  it('lists the existing steps', () => {
    assert.throws(
      () => stepText(modelOf(lendingDesk().events), 9, PLAIN),
      (error) => StudioError.is(error, 'not_found') && /0 to 3/.test(error.hint ?? ''),
    );
  });
});

describe('text for terminals', () => {
  it('wraps at spaces, keeps lines and indents, and breaks words without spaces', () => {
    assert.deepEqual(wrap('one two three', 8), ['one two', 'three']);
    assert.deepEqual(wrap('a\n\nb', 8), ['a', '', 'b']);
    assert.deepEqual(wrap('  - one two three', 9), ['  - one', '  two', '  three']);
    assert.deepEqual(wrap('abcdefghij', 4), ['abcd', 'efgh', 'ij']);
    assert.deepEqual(wrap('', 4), ['']);
    assert.deepEqual(wrap('漢字漢字', 5), ['漢字', '漢字']);
    assert.equal(columns('a漢\u0301'), 3);
  });

  it('omits lines only when that saves some', () => {
    assert.deepEqual(shorten(['a', 'b', 'c'], 2), ['a', 'b', 'c']);
    assert.deepEqual(shorten(['a', 'b', 'c', 'd'], 2), ['a', 'b', '… 2 more lines']);
  });

  it('makes control characters visible', () => assert.equal(harmlessBlock('a\tb\r\nc\x00\x7f\x85'), 'a  b\nc␀␡\ufffd'));
});
