/** The questions before a launch, and the command line that results from the answers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { launchTarget } from '../../../src/host/launch/argument.ts';
import { LaunchMemory } from '../../../src/host/launch/memory.ts';
import {
  answersText,
  attemptChoices,
  attemptCount,
  attemptsProblem,
  type FileFacts,
  type LaunchAnswers,
  needsTaskFile,
  runArguments,
  taskChoices,
} from '../../../src/host/launch/plan.ts';
import { BACK } from '../../../src/host/window/questions/answer.ts';
import { runSteps, SKIPPED } from '../../../src/host/window/questions/steps.ts';
import { TestMemory } from '../../support/testMemory.ts';

const desk: FileFacts = { tasks: 12, complete: true, attempts: 8 };

describe('the choice of tasks', () => {
  test('offers all, the first ones, some', () => {
    assert.deepEqual(
      taskChoices(desk, undefined).map(({ label }) => label),
      ['All 12', 'First 10', 'Pick tasks…'],
    );
    assert.deepEqual(
      taskChoices({ ...desk, tasks: 4 }, undefined).map(({ label }) => label),
      ['All 4', 'Pick tasks…'],
    );
    assert.deepEqual(
      taskChoices({ ...desk, tasks: 1 }, undefined).map(({ label }) => label),
      ['1 task'],
    );
    assert.equal(taskChoices({ tasks: 10_000, complete: false, attempts: 1 }, undefined)[0]?.label, 'All 10000+');
  });

  test('offers the last answers first, with their current meaning', () => {
    const [first] = taskChoices(desk, { tasks: { kind: 'first', count: 10 }, attempts: 4 });
    assert.deepEqual([first?.label, first?.description], ['Same as last time', 'first 10 tasks × 4 attempts']);
    assert.equal(answersText({ tasks: { kind: 'some', ids: ['renew-one'] }, attempts: 1 }), 'renew-one × 1 attempt');
    assert.equal(answersText({ tasks: { kind: 'all' } }), 'all tasks × attempts from the file');
  });
});

describe('the number of attempts', () => {
  test('offers the file’s own number once', () => {
    assert.deepEqual(
      attemptChoices(desk, undefined).map(({ label }) => label),
      ['8', '1', '4', '32', 'Other…'],
    );
    assert.equal(attemptChoices(desk, { tasks: { kind: 'all' }, attempts: 5 }).at(-1)?.description, 'last time 5');
  });

  test('says which parts a mix has', () => {
    const parts = [
      { name: '1', share: 0.875 },
      { name: 'short', share: 0.125 },
    ];
    const [file, one] = attemptChoices({ ...desk, parts }, undefined);
    assert.deepEqual([file?.detail, one?.detail], ['Parts of the mix: 1 87.5%, short 12.5%', undefined]);
    assert.equal(attemptChoices({ ...desk, parts: [] }, undefined)[0]?.detail, undefined);
  });

  test('accepts a whole number from 1', () => {
    assert.equal(attemptsProblem('16'), undefined);
    for (const text of ['', '0', '-1', '1.5', '1e3', 'many', '100001'])
      assert.notEqual(attemptsProblem(text), undefined, text);
  });

  test('shows the resulting number of rollouts', () => {
    assert.equal(attemptCount({ tasks: { kind: 'all' } }, desk), 96);
    assert.equal(attemptCount({ tasks: { kind: 'first', count: 100 }, attempts: 2 }, desk), 24);
    assert.equal(attemptCount({ tasks: { kind: 'some', ids: ['a', 'b'] } }, desk), 16);
  });
});

describe('the command line', () => {
  test('names only what differs from the file', () => {
    const noFaults = { tasks: { kind: 'all' }, attempts: 2, noPerturb: true } as const;
    assert.deepEqual(runArguments('/w/desk.batch.yaml', noFaults, undefined), [
      'run',
      '/w/desk.batch.yaml',
      '--detach',
      '--attempts=2',
      '--no-perturb',
    ]);
    assert.equal(answersText(noFaults), 'all tasks × 2 attempts, no faults');
    assert.deepEqual(runArguments('/w/desk.batch.yaml', { tasks: { kind: 'all' } }, undefined), [
      'run',
      '/w/desk.batch.yaml',
      '--detach',
    ]);
    assert.deepEqual(runArguments('f', { tasks: { kind: 'first', count: 10 }, attempts: 4 }, undefined).slice(2), [
      '--detach',
      '--attempts=4',
      '--limit=10',
    ]);
  });

  test('keeps IDs that look like options', () => {
    assert.deepEqual(runArguments('f', { tasks: { kind: 'some', ids: ['-x', '--task'] } }, undefined).slice(3), [
      '--task=-x',
      '--task=--task',
    ]);
  });

  test('passes many IDs in a file', () => {
    const few: LaunchAnswers = { tasks: { kind: 'some', ids: ['a'] } };
    const many: LaunchAnswers = { tasks: { kind: 'some', ids: Array.from({ length: 21 }, (_, index) => `t${index}`) } };
    assert.deepEqual(
      [needsTaskFile(few), needsTaskFile(many), needsTaskFile({ tasks: { kind: 'all' } })],
      [false, true, false],
    );
    assert.deepEqual(runArguments('f', many, '/tmp/ids').slice(3), ['--task-file=/tmp/ids']);
  });
});

describe('steps', () => {
  test('go forward and back, skipping those without a question', async () => {
    const steps: number[] = [];
    const answers: Record<number, unknown[]> = { 1: ['file', 'other'], 3: [BACK, 'attempts'] };
    const step = (number: number) => (): Promise<unknown> => {
      steps.push(number);
      return Promise.resolve(answers[number]?.shift());
    };
    assert.equal(await runSteps([step(1), () => Promise.resolve(SKIPPED), step(3)]), true);
    assert.deepEqual(steps, [1, 3, 1, 3]);
  });

  test('end when one is closed; going back from the first repeats it', async () => {
    assert.equal(
      await runSteps([
        () => Promise.resolve('a'),
        () => Promise.resolve(undefined),
        () => assert.fail('a step ran after the end'),
      ]),
      false,
    );
    const answers = [BACK, 'a'];
    assert.equal(await runSteps([() => Promise.resolve(answers.shift())]), true);
    assert.equal(answers.length, 0);
  });
});

describe('the argument of a launch', () => {
  test('may be a file of the explorer, a file with tasks, or a row of a tree', () => {
    const file = process.platform === 'win32' ? 'C:\\w\\a.batch.yaml' : '/w/a.batch.yaml';
    assert.deepEqual(launchTarget({ scheme: 'file', fsPath: file, path: file }), { kind: 'file', file });
    assert.deepEqual(launchTarget({ file, task: 't1' }), { kind: 'file', file, tasks: { kind: 'some', ids: ['t1'] } });
    assert.deepEqual(launchTarget({ file: { scheme: 'file', fsPath: file }, task: ['t1', 't2'] }), {
      kind: 'file',
      file,
      tasks: { kind: 'some', ids: ['t1', 't2'] },
    });
    assert.deepEqual(launchTarget({ kind: 'task', batch: 'b1', task: 't1', reference: 'b1/t1' }), {
      kind: 'task',
      batch: 'b1',
      task: 't1',
    });
    for (const other of [
      undefined,
      3,
      'relative.yaml',
      { file: 7 },
      { batch: 'b1' },
      { scheme: 'untitled', fsPath: file },
    ])
      assert.equal(launchTarget(other), undefined);
  });
});

describe('the launch history', () => {
  test('keeps the newest first, each file once, and which file a batch came from', async () => {
    const memory = new LaunchMemory(new TestMemory());
    const answers: LaunchAnswers = { tasks: { kind: 'all' }, attempts: 2 };
    await memory.storeFile({ file: '/a', answers, values: [] });
    await memory.storeFile({ file: '/b', answers, values: ['KEY'] });
    await memory.storeFile({ file: '/a', answers: { tasks: { kind: 'first', count: 10 } }, values: [] });
    assert.deepEqual(
      memory.files.map(({ file }) => file),
      ['/a', '/b'],
    );
    assert.deepEqual(memory.file('/a')?.answers, { tasks: { kind: 'first', count: 10 } });
    assert.deepEqual(memory.file('/b')?.values, ['KEY']);
    await memory.storeBatch({ batch: 'b1', file: '/a', answers });
    assert.deepEqual(memory.batch('b1'), { batch: 'b1', file: '/a', answers });
    assert.equal(memory.batch('b2'), undefined);
  });

  test('ignores entries of another version, and reads the rest', async () => {
    const store = new TestMemory();
    await store.update('launch.files', [{ file: 3 }, { file: '/a', answers: { tasks: { kind: 'all' } } }]);
    assert.deepEqual(
      new LaunchMemory(store).files.map(({ file }) => file),
      ['/a'],
    );
    await store.update('launch.files', 'nonsense');
    assert.deepEqual(new LaunchMemory(store).files, []);
  });
});
