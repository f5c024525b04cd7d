import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RolloutRow, Verdict } from '../../../../src/trace/summary.ts';
import { parseFilter, splitParts, togglePart, withoutPart } from '../../../../webview/batch/model/filter.ts';
import { judgedRow, recordedRow } from '../../../../webview/data/judged.ts';
import { aRow, failed, passed } from './rows.ts';

const task = { id: 'renew-late', question: 'Renew the loan of Ana, "due today".', level: 2, meta: {} };

function matches(text: string, row: RolloutRow): boolean {
  const parsed = parseFilter(text);
  if (parsed.kind !== 'parts') throw new assert.AssertionError({ message: `${text} was read as an expression` });
  return parsed.parts.every((part) => part.test(row, task));
}

suite('the filter of the batch page', () => {
  const timeout = aRow({
    attempt: 3,
    worker: 'pod-7',
    progress: {
      status: 'done',
      passed: false,
      steps: 31,
      part: 'short-2',
      tools: ['renew_loan', 'find_member'],
      error_class: 'timeout',
      error_message: 'No answer in 30 s',
      input_tokens: 1500,
      output_tokens: 10,
      ms: 42_000,
    },
  });

  test('has terms for a field', () => {
    for (const text of [
      'error:timeout',
      'error:answer',
      'error:"no answer"',
      'tool:renew',
      'task:late',
      'outcome:failed',
      'worker:pod',
      'level:2',
      'part:short-2',
      'attempt:3',
      'steps>30',
      'steps > 30',
      'steps >= 31 error:timeout',
      'steps>=31',
      'tokens>1.5k',
      'seconds<43',
      'question:ana',
    ]) {
      assert.equal(matches(text, timeout), true, text);
    }
    for (const text of [
      'error:limit',
      'tool:pay',
      'outcome:fail',
      'level:20',
      'attempt:33',
      'steps>31',
      'steps<31',
      'tokens>2k',
      'seconds>42',
      'cost>0',
      'reward<1',
    ]) {
      assert.equal(matches(text, timeout), false, text);
    }
  });

  test('requires all terms, in any order', () => {
    assert.equal(matches('error:timeout steps>30', timeout), true);
    assert.equal(matches('steps>30 error:limit', timeout), false);
  });

  test('matches words in the task, its question, the error, and the tools, in any case', () => {
    for (const word of ['RENEW-late', 'ana', '"due today"'.replaceAll('"', ''), 'find_member', '30', 'timeout'])
      assert.equal(matches(word, timeout), true, word);
    assert.equal(matches('ana bert', timeout), false);
    assert.equal(matches('"loan of"', timeout), true);
    assert.equal(matches('"loan for"', timeout), false);
  });

  test('takes an unknown field for a word', () => {
    assert.equal(matches('http://x', timeout), false);
    assert.equal(matches('constructor:x', timeout), false);
  });

  test('matches everything when it is empty', () => {
    assert.equal(matches('', passed()), true);
    assert.equal(matches('   ', failed()), true);
  });

  test('distinguishes expressions from terms', () => {
    for (const text of [
      'usage.output_tokens > 500',
      'step == 3',
      'status == "done" && reward > 0.5',
      'attempt > 3 && step < 4',
      '!(task.id == "a")',
      'has(task.level)',
      'step > 3',
    ]) {
      assert.deepEqual(parseFilter(text), { kind: 'cel', text }, text);
    }
    for (const text of ['steps>=30', 'attempt>3', 'reward<1 attempt>2', 'task late', 'reward'])
      assert.equal(parseFilter(text).kind, 'parts', text);
  });

  test('takes an unfinished expression for an expression, not for words', () => {
    for (const text of [
      'progress.steps >',
      'progress.steps > 3',
      'progress.steps>3',
      'steps >',
      'late > 3',
      'status =',
    ]) {
      assert.deepEqual(parseFilter(text), { kind: 'cel', text }, text);
    }
    for (const text of ['">"', 'a-b', 'loans.ts', 'e.g.']) assert.equal(parseFilter(text).kind, 'parts', text);
  });

  test('says what a field lacks', () => {
    assert.deepEqual(parseFilter('ana steps>'), { kind: 'problem', text: 'steps needs a number, such as steps>3' });
    assert.deepEqual(parseFilter('steps>many'), { kind: 'problem', text: 'steps needs a number, such as steps>3' });
    assert.deepEqual(parseFilter('error:'), { kind: 'problem', text: 'error: needs a value' });
  });

  test('keeps quotes in terms, and an unfinished one extends to the end', () => {
    assert.deepEqual(splitParts('error:"no such" due "a b'), ['error:"no such"', 'due', '"a b']);
    assert.equal(withoutPart('error:"no such" due steps>3', 1), 'error:"no such" steps>3');
  });

  test('sets, replaces, and removes a term by a click on an error class', () => {
    assert.equal(togglePart('', 'error:limit'), 'error:limit');
    assert.equal(togglePart('ana error:timeout', 'error:limit'), 'ana error:limit');
    assert.equal(togglePart('ana error:limit', 'error:limit'), 'ana');
  });

  test('finds attempts whose verdicts contradict each other, whichever of them the rows show', () => {
    const verdict = (value: number): Verdict => ({ value, passed: value === 1, at: 1 });
    const { progress } = failed();
    const disputed = failed({ progress: { ...progress, verdicts: { judge: verdict(1) } } });
    const agreed = failed({ progress: { ...progress, verdicts: { judge: verdict(0) } } });
    const byJudge = judgedRow(disputed, 'judge');
    assert.equal(byJudge.progress.passed, true);
    assert.equal(recordedRow(byJudge), disputed);
    assert.equal(judgedRow(disputed, 'reward'), disputed);
    assert.deepEqual(
      [disputed, byJudge, agreed, failed()].map((row) => matches('verdicts:disagree', row)),
      [true, true, false, false],
    );
    assert.equal(matches('outcome:passed verdicts:disagree', byJudge), true);
    assert.deepEqual(parseFilter('verdicts.judge.passed'), { kind: 'cel', text: 'verdicts.judge.passed' });
  });
});
