import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runsOf } from '../../../../src/host/testing/selection.ts';
import { attemptLine, isSettled, taskVerdict } from '../../../../src/host/testing/verdict.ts';
import { rolloutRow, scored } from '../rows.ts';

const lost = (attempt: number, number = 1) =>
  rolloutRow({ attempt, try: number, settles: false, progress: { status: 'infrastructure' } });

describe('a task as a test', () => {
  it('passes when one attempt passed', () => {
    const verdict = taskVerdict([scored('t1', 1, false), scored('t1', 2, true), scored('t1', 3, true)], 8);
    assert.equal(verdict.state, 'passed');
    assert.equal(verdict.text, '2/8 passed');
    assert.equal(verdict.first?.attempt, 2);
    assert.equal(verdict.ms, 3000);
  });
  it('fails when none passed, and points to the first that failed', () => {
    const verdict = taskVerdict(
      [scored('t1', 3, false), scored('t1', 2, false, { progress: { status: 'truncated' } }), lost(1)],
      3,
    );
    assert.equal(verdict.state, 'failed');
    assert.equal(verdict.text, '0/3 passed, 1 lost to infrastructure, 1 truncated');
    assert.equal(verdict.first?.attempt, 2);
  });
  it('is an error when nothing could be scored', () => {
    assert.equal(taskVerdict([lost(1)], 1).state, 'errored');
    assert.equal(taskVerdict([scored('t1', 1, true, { progress: { passed: null } })], 1).state, 'errored');
  });
  it('is skipped when it was cancelled', () => {
    assert.equal(taskVerdict([rolloutRow({ progress: { status: 'cancelled' } })], 1).state, 'skipped');
    assert.equal(taskVerdict([], 1).state, 'skipped');
  });
  it('counts the try that settled an attempt', () => {
    const verdict = taskVerdict([lost(1), scored('t1', 1, true, { try: 2 })], 1);
    assert.deepEqual([verdict.state, verdict.text], ['passed', '1/1 passed']);
  });
  it('settles with its last attempt, not with one that gets another try', () => {
    assert.equal(isSettled([scored('t1', 1, true), lost(2)], 2), false);
    assert.equal(isSettled([scored('t1', 1, true), lost(2), scored('t1', 2, false, { try: 2 })], 2), true);
    assert.equal(
      isSettled([scored('t1', 1, true), rolloutRow({ attempt: 2, state: 'running', settles: false })], 2),
      false,
    );
  });
  it('describes an attempt in a line', () => {
    assert.equal(
      attemptLine(scored('t1', 2, false, { try: 2, progress: { error_class: 'limit' } })),
      't1/2 (try 2)  failed  score 0  3 steps  1.0 s  limit',
    );
  });
});

describe('the selection of a run', () => {
  const tasksOf = (file: string): string[] => (file === 'one' ? ['a', 'b', 'c'] : file === 'two' ? ['x'] : []);
  it('takes a file as a whole, or its tasks in their order', () => {
    assert.deepEqual(runsOf([{ file: 'one' }], [], tasksOf), [{ file: 'one', tasks: 'all' }]);
    assert.deepEqual(
      runsOf(
        [
          { file: 'one', task: 'c' },
          { file: 'one', task: 'a' },
        ],
        [],
        tasksOf,
      ),
      [{ file: 'one', tasks: ['a', 'c'] }],
    );
    assert.deepEqual(runsOf([{ file: 'one', task: 'b' }, { file: 'one' }], [], tasksOf), [
      { file: 'one', tasks: 'all' },
    ]);
  });
  it('runs a file once, whatever was selected of it', () => {
    assert.deepEqual(runsOf([{ file: 'two', task: 'x' }, { file: 'one', task: 'a' }, { file: 'two' }], [], tasksOf), [
      { file: 'two', tasks: 'all' },
      { file: 'one', tasks: ['a'] },
    ]);
  });
  it('omits what is excluded, and a file without remaining tasks', () => {
    assert.deepEqual(runsOf([{ file: 'one' }], [{ file: 'one', task: 'b' }], tasksOf), [
      { file: 'one', tasks: ['a', 'c'] },
    ]);
    assert.deepEqual(
      runsOf([{ file: 'one' }, { file: 'two' }], [{ file: 'one' }, { file: 'two', task: 'x' }], tasksOf),
      [],
    );
  });
  it('omits tasks that no longer exist', () => {
    assert.deepEqual(runsOf([{ file: 'one', task: 'gone' }], [], tasksOf), []);
    assert.deepEqual(runsOf([{ file: 'empty' }], [], tasksOf), []);
  });
});
