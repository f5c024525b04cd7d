import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callNumber, callsOf, nextCall, previousCall } from '../../../src/trace/calls.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { framesOf } from '../../../webview/components/errors/frames.ts';
import { eventsOf, modelCallOf, subjectAt } from '../../../webview/trajectory/detail/subject.ts';
import { timeBars } from '../../../webview/trajectory/detail/tabs/timing.ts';
import { Stream } from '../../support/stream.ts';

/** Two steps: the first calls `renew` twice, the second has the final message. */
function desk(): { model: TrajectoryModel; first: number; calls: number[] } {
  const s = new Stream();
  s.start();
  s.message('user', 'Renew both');
  const first = s.model(
    'I will',
    [
      { id: 'c1', name: 'renew', arguments: { loan: 1 } },
      { id: 'c2', name: 'renew', arguments: { loan: 2 } },
    ],
    { ms: 500 },
  );
  const calls = ['c1', 'c2'].map((call) => {
    const span = s.add('tool.start', { call, name: 'renew', arguments: {}, effect: 'pure' }, { parent: first });
    s.add('tool.end', { status: 'ok', result: 1, ms: 20, source: 'live' }, { span });
    return span;
  });
  s.model('Done');
  const model = new TrajectoryModel();
  model.push(s.events);
  return { model, first, calls };
}

describe('the selection', () => {
  it('is the span of a start or an end, a message, or the event itself', () => {
    const { model, first, calls } = desk();
    const call = calls[1] ?? 0;
    assert.equal(subjectAt(model, 1)?.kind, 'event');
    assert.equal(subjectAt(model, 2)?.kind, 'message');
    assert.equal(subjectAt(model, first)?.kind, 'model');
    for (const seq of [call, call + 1]) {
      const subject = subjectAt(model, seq);
      assert.ok(subject?.kind === 'tool' && subject.span.seq === call);
      assert.equal(modelCallOf(subject)?.seq, first);
      assert.deepEqual(
        eventsOf(model, subject).map((event) => event.seq),
        [call, call + 1],
      );
    }
    assert.equal(subjectAt(model, 99), undefined);
  });

  it('counts the calls of a tool, including later ones', () => {
    const {
      model,
      calls: [a = 0, b = 0],
    } = desk();
    const [first, second] = callsOf(model, 'renew');
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual([first.seq, second.seq, callNumber(model, second)], [a, b, 2]);
    assert.equal(previousCall(model, second), first);
    assert.equal(previousCall(model, first), undefined);
    assert.equal(nextCall(model, first), second);
    assert.deepEqual(callsOf(model, 'none'), []);
    model.push([
      {
        seq: model.last + 1,
        v: 1,
        at: 1_795_000_009_000,
        kind: 'tool.start',
        data: { call: 'c3', name: 'renew', arguments: {}, effect: 'pure' },
      },
    ]);
    assert.equal(nextCall(model, second)?.start.data.call, 'c3');
  });

  it('shows where the time of a step went', () => {
    const { model, first } = desk();
    const step = model.step(1);
    assert.ok(step !== undefined);
    const bars = timeBars(model, step, 0);
    assert.deepEqual(
      bars.map((bar) => [bar.name, bar.depth, bar.ms, bar.open]),
      [
        ['step 1', 0, bars[0]?.ms, false],
        ['model', 1, 500, false],
        ['renew', 1, 20, false],
        ['renew', 1, 20, false],
      ],
    );
    assert.equal(bars[1]?.seq, first);
    assert.deepEqual(timeBars(model, model.steps[0] ?? step, 0), []);
  });
});

describe('frames of an error', () => {
  it('are those of the user’s files', () => {
    const stack = [
      'LimitError: limit reached',
      '    at renewLoan (tools/loans.ts:41:11)',
      '    at tools/loans.ts:18:10',
      '    at process.processTicks (node:internal/process/task_queues:105:5)',
      '    at run (file:///x/dist/toolThread.mjs:9:1)',
    ].join('\n');
    const long = `    at ${'at ('.repeat(200_000)}`;
    const { frames, hidden } = framesOf({
      class: 'tool_error',
      message: 'limit reached',
      stack: `${stack}\n${long}`,
    });
    assert.deepEqual(
      frames.map(({ name, place }) => [name, place.file, place.line, place.column]),
      [
        ['renewLoan', 'tools/loans.ts', 41, 11],
        [undefined, 'tools/loans.ts', 18, 10],
      ],
    );
    assert.equal(hidden, 2);
  });

  it('are only the place when there is no stack, and empty when there is neither', () => {
    assert.deepEqual(
      framesOf({ class: 'tool_error', message: 'x', place: { file: 'a.ts', line: 1, column: 2 } }).frames.map(
        ({ place }) => place.line,
      ),
      [1],
    );
    assert.deepEqual(framesOf({ class: 'timeout', message: 'x' }), { frames: [], hidden: 0 });
  });
});
