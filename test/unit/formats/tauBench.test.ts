import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { tauBench } from '../../../src/formats/tauBench.ts';
import { causeOf } from '../../../src/trace/cause.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { advanceProgress } from '../../../src/trace/progress.ts';
import { checkEvent, type EventData, type EventKind, type TraceEvent } from '../../../src/trace/schema.ts';
import { EMPTY_PROGRESS } from '../../../src/trace/summary.ts';
import { readTauBench } from '../../support/tauBench.ts';
import { type TrialCall, trial } from '../../support/tauTrial.ts';

const text = readFileSync(new URL('../../fixtures/tau-bench/two-tasks.json', import.meta.url), 'utf8');
const options = { batch: 'b1', at: 1_795_000_000_000 };
const imported = await readTauBench(JSON.parse(text) as unknown[], 'two-tasks.json', options);

function events(task: string, attempt: number): readonly TraceEvent[] {
  return imported.rollouts.find((rollout) => rollout.task === task && rollout.attempt === attempt)!.events;
}

function dataOf<K extends EventKind>(stream: readonly TraceEvent[], kind: K): EventData[K][] {
  return stream.flatMap((event) => (event.kind === kind ? [event.data as EventData[K]] : []));
}

describe('tau-bench results', () => {
  it('become well-formed streams, one for each trial, in order of the file', () => {
    assert.equal(imported.name, 'two-tasks');
    assert.deepEqual(
      imported.rollouts.map(({ task, attempt }) => [task, attempt]),
      [
        ['0', 2],
        ['0', 1],
        ['7', 1],
      ],
    );
    for (const { events: stream } of imported.rollouts) {
      stream.forEach((event, index) => {
        assert.equal(event.seq, index + 1);
        assert.deepEqual(checkEvent(event), { ok: true });
        assert.equal(event.at, options.at);
      });
      assert.equal(stream.at(-1)!.kind, 'rollout.end');
    }
  });

  it("keep the task with the benchmark's expectation", () => {
    assert.deepEqual(imported.tasks[0], {
      id: '0',
      question: 'You are Ada. You want your book renewed.',
      answer: { actions: [{ name: 'renew_loan', kwargs: { loan_id: 17 } }], outputs: [] },
      meta: { user_id: 'ada_1' },
    });
    assert.deepEqual(imported.tasks[1], { id: '7', question: '', meta: {} });
  });

  it('keep every message and call', () => {
    const stream = events('0', 2);
    assert.deepEqual(
      dataOf(stream, 'message').map((message) => [message.m, message.role, message.origin]),
      [
        [1, 'system', 'given'],
        [2, 'user', 'given'],
        [3, 'assistant', 'sampled'],
        [4, 'user', 'given'],
        [5, 'assistant', 'sampled'],
        [6, 'tool', 'tool'],
        [7, 'assistant', 'sampled'],
        [8, 'user', 'given'],
      ],
    );
    const model = new TrajectoryModel();
    model.push(stream);
    assert.equal(model.steps.length, 4);
    const [tool] = model.tools;
    assert.deepEqual(
      [tool!.start.data.name, tool!.start.data.arguments, model.resultOf(tool!)?.value],
      ['renew_loan', { loan_id: 17, days: 14 }, '{"due": "2026-05-15"}'],
    );
    assert.deepEqual(
      dataOf(stream, 'model.start').map((start) => start.context),
      [[[1, 2]], [[1, 4]], [[1, 6]]],
    );
    assert.deepEqual(model.openSpans(), []);
  });

  it('invent nothing', () => {
    for (const start of dataOf(events('0', 2), 'rollout.start'))
      assert.deepEqual(start, { batch: 'b1', task: '0', attempt: 2, try: 1, times: 'none' });
    for (const call of dataOf(events('0', 2), 'model.start'))
      assert.deepEqual(Object.keys(call).sort(), ['context', 'sampling', 'step']);
    for (const end of dataOf(events('0', 2), 'model.end')) {
      assert.deepEqual(
        [end.usage, end.ms, end.finish_reason, end.source, end.trainable],
        [undefined, undefined, undefined, 'imported', false],
      );
    }
    assert.deepEqual(dataOf(events('0', 2), 'rollout.end')[0]!.totals, { steps: 3, tool_calls: 1 });
  });

  it('keep reward and its parts', () => {
    assert.deepEqual(dataOf(events('0', 2), 'score'), [
      { scorer: 'tau-bench', value: 1, passed: true, parts: { r_actions: 1, r_outputs: 1 } },
    ]);
    assert.deepEqual(dataOf(events('0', 1), 'score'), [
      {
        scorer: 'tau-bench',
        value: 0,
        passed: false,
        checks: [{ name: 'conversation', passed: false, cause: 'conversation cut off' }],
      },
    ]);
    const [end] = dataOf(events('0', 1), 'rollout.end');
    assert.deepEqual([end!.status, end!.passed, end!.reward, end!.answer], ['done', false, 0, null]);
  });

  it('keep broken parts unchanged: unparsable arguments, failed tools, an unanswered call', () => {
    const stream = events('0', 1);
    assert.deepEqual(
      dataOf(stream, 'tool.start').map((start) => [start.name, start.arguments, start.raw]),
      [
        ['renew_loan', '{"loan_id": 17', '{"loan_id": 17'],
        ['transfer_to_human', {}, undefined],
      ],
    );
    assert.deepEqual(
      dataOf(stream, 'tool.end').map((end) => [end.status, end.error]),
      [['error', { class: 'tool_error', message: 'Error: arguments are not JSON' }]],
    );
    const model = new TrajectoryModel();
    model.push(stream);
    assert.deepEqual(
      model.openSpans().map((span) => span.seq),
      [model.tools[1]!.seq],
    );
  });

  it('leave a fault of the harness unscored', () => {
    const stream = events('7', 1);
    assert.deepEqual(
      stream.map((event) => event.kind),
      ['rollout.start', 'rollout.end'],
    );
    const [end] = dataOf(stream, 'rollout.end');
    assert.deepEqual(
      [end!.status, end!.reward, end!.error],
      ['infrastructure', null, { class: 'infrastructure', message: 'the model server went away' }],
    );
  });

  it('report what was omitted, and where it is', () => {
    assert.deepEqual(
      imported.skipped.map(({ place }) => place),
      ['two-tasks.json[3]', 'two-tasks.json[4].traj[1]'],
    );
    assert.match(imported.skipped[0]!.why, /^reward: /);
    assert.match(imported.skipped[1]!.why, /^role: /);
  });

  it('are recognized by their beginning', () => {
    assert.ok(tauBench.detect(text.slice(0, 400), 'x.json'));
    assert.ok(tauBench.detect(`\ufeff${text.slice(0, 400)}`, 'x.json'));
    for (const other of ['{"task_id": 1}', '[{"id": 1}]', '', '[{"task_id": "a", "question": "b"}]'])
      assert.ok(!tauBench.detect(other, 'x.json'), other);
  });

  it('count attempts in order when trials are missing or duplicated', async () => {
    const entry = (trial?: number): object => ({
      task_id: 1,
      reward: 1,
      traj: [],
      ...(trial === undefined ? {} : { trial }),
    });
    const attempts = async (...entries: object[]): Promise<number[]> =>
      (await readTauBench(entries, 'x', options)).rollouts.map(({ attempt }) => attempt);
    assert.deepEqual(await attempts(entry(3), entry(0)), [4, 1]);
    assert.deepEqual(await attempts(entry(), entry()), [1, 2]);
    assert.deepEqual(await attempts(entry(1), entry(0), entry(1)), [2, 1, 3]);
  });

  it('read other shapes of messages: parts, images, several calls, calls without IDs, stray answers', async () => {
    const traj = [
      { role: 'developer', content: 'rules' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
          { type: 'odd', b: 1, a: 2 },
        ],
      },
      {
        role: 'assistant',
        reasoning_content: 'hm',
        tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }, { function: { name: 'g' } }],
      },
      { role: 'tool', name: 'g', content: 'from g' },
      { role: 'tool', name: 'f', content: [{ type: 'text', text: 'from f' }] },
      { role: 'tool', tool_call_id: 'nobody', content: 'stray' },
    ];
    const { rollouts, skipped } = await readTauBench([{ task_id: 'x', reward: null, traj }], 'x', options);
    assert.deepEqual(skipped, []);
    const stream = rollouts[0]!.events;
    for (const event of stream) assert.deepEqual(checkEvent(event), { ok: true });
    const messages = dataOf(stream, 'message');
    assert.deepEqual(messages[1]!.parts, [
      { type: 'text', content: 'look' },
      { type: 'blob', mime_type: 'image/png', modality: 'image', content: 'AAAA' },
      { type: 'uri', uri: 'https://x.test/a.png', modality: 'image' },
      { type: 'text', content: '{"a":2,"b":1,"type":"odd"}' },
    ]);
    assert.deepEqual(messages[2]!.parts[0], { type: 'reasoning', content: 'hm' });
    const model = new TrajectoryModel();
    model.push(stream);
    assert.deepEqual(
      model.tools.map((tool) => [tool.start.data.name, model.resultOf(tool)?.value]),
      [
        ['f', 'from f'],
        ['g', 'from g'],
      ],
    );
    assert.equal(messages.length, 6);
    assert.deepEqual(dataOf(stream, 'rollout.end')[0]!.reward, null);
  });

  it('have equal fingerprints for equal trajectories', async () => {
    const raw = JSON.parse(text) as { trial: number; task_id: number }[];
    const again = await readTauBench([raw[0], { ...raw[0], trial: 5 }, raw[1]], 'x', options);
    const [first, other, second] = again.rollouts
      .toSorted((a, b) => a.attempt - b.attempt)
      .map((rollout) => dataOf(rollout.events, 'rollout.end')[0]!.fingerprint);
    assert.notEqual(first, other);
    assert.equal(other, second);
  });
});

describe('failed tau-bench trials say why', () => {
  const renew = { name: 'renew_loan', kwargs: { loan_id: 17, days: 14 } };
  const causeIn = async (calls: readonly TrialCall[], info: object, task = 'a'): Promise<string | undefined> => {
    const entry = { ...trial(task, 0, 0, calls), info: { task: {}, reward_info: { actions: [renew], info } } };
    const [read] = (await readTauBench([entry], 'x.json', options)).rollouts;
    return causeOf({ state: 'ended', progress: advanceProgress(EMPTY_PROGRESS, read!.events) })?.text;
  };
  const call = (name: string, args: Record<string, unknown>, result = 'ok'): TrialCall => ({
    name,
    arguments: args,
    result,
  });
  const differs = { r_actions: 0 };

  it('an expected action that was not called, or failed, or has other arguments', async () => {
    assert.equal(await causeIn([call('get_loan', { loan_id: 17 })], differs), 'renew_loan: not called');
    assert.equal(
      await causeIn([call('renew_loan', renew.kwargs, 'Error: refused')], differs),
      'renew_loan: not called',
    );
    assert.equal(await causeIn([call('renew_loan', { loan_id: 17, days: 7 })], differs), 'renew_loan: wrong days');
  });
  it('an action that was not expected, or the database if nothing else differs', async () => {
    const right = call('renew_loan', renew.kwargs);
    assert.equal(await causeIn([right, call('pay_fine', {})], differs), 'unexpected pay_fine');
    assert.equal(await causeIn([right], differs), 'database differs');
  });
  it('an output that the agent did not say', async () => {
    assert.equal(await causeIn([], { r_outputs: 0, outputs: { '12.40': false } }), 'output missing');
  });
  it('a conversation that was cut off before it was rewarded', async () => {
    assert.equal(await causeIn([], {}), 'conversation cut off');
  });
});
