import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { causeOf } from '../../../src/trace/cause.ts';
import { advanceProgress } from '../../../src/trace/progress.ts';
import type { ErrorClass, EventData } from '../../../src/trace/schema.ts';
import { type Cause, EMPTY_PROGRESS, progress as progressSchema } from '../../../src/trace/summary.ts';
import { Stream } from '../../support/stream.ts';

type Score = Partial<EventData['score']>;

interface Recorded {
  /** Calls in order: tool, and the class of its error. */
  readonly calls?: readonly (readonly [string, ErrorClass?])[];
  readonly effect?: 'pure' | 'restorable';
  readonly score?: Score;
  readonly end?: Partial<EventData['rollout.end']>;
}

function causeIn({ calls = [], effect = 'pure', score, end }: Recorded): Cause | undefined {
  const stream = new Stream();
  stream.start();
  for (const [index, [tool, failed]] of calls.entries()) {
    const span = stream.add('tool.start', { call: `c${index}`, name: tool, arguments: {}, effect });
    const error = failed === undefined ? {} : { error: { class: failed, message: 'no' } };
    stream.add('tool.end', { status: failed === undefined ? 'ok' : 'error', source: 'live', ...error }, { span });
  }
  const passed = score?.passed === undefined ? false : score.passed;
  if (score !== undefined)
    stream.add('score', { scorer: 's', value: passed === null ? null : Number(passed), passed, ...score });
  stream.end({ passed: score === undefined ? null : passed, answer: 'x', ...end });
  const progress = advanceProgress(EMPTY_PROGRESS, stream.events);
  assert.deepEqual(progressSchema.parse(progress), progress);
  assert.deepEqual([progress.open_calls, progress.failed_call], [undefined, undefined], 'nothing is left of the calls');
  return causeOf({ state: 'ended', progress });
}

const text = (recorded: Recorded): string | undefined => causeIn(recorded)?.text;

describe('the cause of an attempt', () => {
  it('is absent while it runs and if it passed', () => {
    assert.equal(causeIn({ score: { passed: true } }), undefined);
    assert.equal(causeOf({ state: 'running', progress: EMPTY_PROGRESS }), undefined);
  });

  it('is the first failed check, by what the verifier calls it or by its name', () => {
    const passed = { name: 'loans L-1', passed: true };
    const named = { name: 'loans L-2', passed: false, cause: 'loans: not renewed' };
    assert.equal(text({ score: { checks: [passed, named, { name: 'answer', passed: false }] } }), 'loans: not renewed');
    assert.equal(text({ score: { checks: [passed, { name: 'loans L-3', passed: false }] } }), 'loans L-3 failed');
    assert.equal(text({ score: { parts: { fluent: 1, correct: 0 } } }), 'correct failed');
    assert.equal(text({ score: { explanation: 'Loan 18 is overdue. Loan 19 too.' } }), 'Loan 18 is overdue');
  });

  it('is what failed in the world if that is why nobody can say', () => {
    const failed = { name: 'world', passed: false, cause: 'environment: find: timeout' };
    const score: Score = { passed: null, outcome: 'environment_error', checks: [failed] };
    assert.deepEqual([causeIn({ score })?.kind, text({ score })], ['unscored', 'environment: find: timeout']);
    assert.equal(text({ score: { passed: null, outcome: 'environment_error' } }), 'environment: not judged');
    assert.equal(text({ score: { passed: null } }), 'not scored');
  });

  it('is the answer if only that is wrong or missing', () => {
    assert.equal(
      text({ score: { checks: [{ name: 'answer', passed: false, expected: '1', actual: '2' }] } }),
      'answer wrong',
    );
    assert.equal(text({ score: { checks: [{ name: 'answer', passed: false, actual: null }] } }), 'no answer');
    assert.equal(text({ score: {}, end: { answer: null } }), 'no answer');
  });

  it('is a call that failed and never succeeded, rather than the answer that follows from it', () => {
    const wrong = { checks: [{ name: 'answer', passed: false, actual: '2' }] };
    assert.equal(text({ calls: [['search', 'timeout']], score: wrong }), 'search: timeout');
    assert.equal(text({ calls: [['search', 'unknown_tool']], score: wrong }), 'unknown tool search');
    assert.equal(text({ calls: [['renew', 'tool_error']], effect: 'restorable', score: wrong }), 'renew: refused');
    assert.equal(text({ calls: [['search', 'timeout'], ['search']], score: wrong }), 'answer wrong');
    assert.deepEqual(causeIn({ calls: [['renew', 'tool_error'], ['search']], score: wrong }), {
      kind: 'call',
      text: 'renew: tool error',
      seq: 2,
      tool: 'renew',
      class: 'tool_error',
    });
  });

  it('is the limit or error that ended it, whatever the score says', () => {
    const check = { checks: [{ name: 'loans', passed: false }] };
    const ended = (
      error: EventData['rollout.end']['error'],
      status: EventData['rollout.end']['status'],
    ): string | undefined => text({ score: check, end: { status, error } });
    assert.equal(ended({ class: 'limit', message: 'm', limit: 'steps' }, 'truncated'), 'step limit');
    assert.equal(ended({ class: 'limit', message: 'm' }, 'truncated'), 'limit');
    assert.equal(ended({ class: 'context_overflow', message: 'm' }, 'truncated'), 'context full');
    assert.equal(ended({ class: 'model_error', message: 'm' }, 'done'), 'model error');
    assert.equal(ended({ class: 'infrastructure', message: 'm' }, 'infrastructure'), 'infrastructure');
    assert.equal(ended({ class: 'cancelled', message: 'm' }, 'cancelled'), 'cancelled');
  });

  it('says that nobody can score it, and that the record holds no cause', () => {
    assert.equal(text({ score: { passed: null, explanation: 'The task has no expected answer.' } }), 'not scored');
    assert.equal(text({ score: { passed: null, error: { class: 'timeout', message: 'm' } } }), 'scoring failed: m');
    assert.equal(text({ score: {} }), 'No cause recorded');
  });

  it('is read from rows written before causes were recorded', () => {
    const old = (progress: object): string | undefined =>
      causeOf({ state: 'ended', progress: { ...EMPTY_PROGRESS, passed: false, ...progress } })?.text;
    assert.equal(old({ status: 'cancelled', passed: null }), 'cancelled');
    assert.equal(old({ status: 'done', error_class: 'model_error' }), 'model error');
    assert.equal(old({ status: 'done' }), 'No cause recorded');
  });
});
