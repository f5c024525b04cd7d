import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type ArrangeInput, arrange } from '../../../../webview/batch/model/arrange.ts';
import { taskFacts, taskMedians } from '../../../../webview/batch/model/taskFacts.ts';
import { aRow, failed, passed } from './rows.ts';

const tasks = [
  { attempts: [failed({ rev: 3 }), passed({ rev: 9 })] },
  { attempts: [failed({ rev: 4 }), failed({ rev: 5 })] },
  { attempts: [aRow({ state: 'running', rev: 20, progress: { step: 3 } }), undefined] },
  { attempts: [passed({ rev: 7, progress: { ...passed().progress, input_tokens: 900, ms: 10 } }), passed({ rev: 6 })] },
];
const levels = ['10', '2', undefined, '2'];
const scenarios = ['town_library', 'library_9', undefined, 'library_9'];

function order(input: Partial<ArrangeInput>): string[] {
  return arrange({
    tasks: tasks.length,
    facts: (index) => taskFacts(tasks[index], 2),
    level: (index) => levels[index],
    scenario: (index) => scenarios[index],
    spread: () => null,
    sort: 'task',
    group: 'none',
    folded: new Set(),
    ...input,
  }).map((row) => (row.kind === 'group' ? row.name : String(row.index)));
}

suite('the order of the tasks', () => {
  test('has ways to sort; equal ones stay in the order of the tasks, those without a verdict come last', () => {
    assert.deepEqual(order({}), ['0', '1', '2', '3']);
    assert.deepEqual(order({ sort: 'rate' }), ['3', '0', '1', '2']);
    assert.deepEqual(order({ sort: 'failures' }), ['1', '0', '3', '2']);
    assert.deepEqual(order({ sort: 'activity' }), ['2', '0', '3', '1']);
    assert.deepEqual(order({ sort: 'tokens' }), ['3', '0', '1', '2']);
    assert.deepEqual(order({ sort: 'duration' }), ['3', '0', '1', '2']);
  });

  test('groups by level in numeric order, tasks without one at the end', () => {
    assert.deepEqual(order({ group: 'level' }), ['level 2', '1', '3', 'level 10', '0', 'no level', '2']);
  });

  test('groups by the scenario of the world', () => {
    assert.deepEqual(order({ group: 'scenario' }), ['library_9', '1', '3', 'town_library', '0', 'no scenario', '2']);
  });

  test('groups by outcome', () => {
    assert.deepEqual(order({ group: 'outcome' }), [
      'none passed',
      '1',
      'mixed',
      '0',
      'all passed',
      '3',
      'not scored yet',
      '2',
    ]);
  });

  test('keeps the header of a folded group, with its rate', () => {
    assert.deepEqual(order({ group: 'level', folded: new Set(['2']) }), ['level 2', 'level 10', '0', 'no level', '2']);
    const [head] = arrange({
      tasks: 4,
      facts: (index) => taskFacts(tasks[index], 2),
      level: (index) => levels[index],
      scenario: () => undefined,
      spread: () => null,
      sort: 'task',
      group: 'level',
      folded: new Set(['2']),
    });
    assert.deepEqual(head, { kind: 'group', key: '2', name: 'level 2', tasks: 2, rate: 0.5, open: false });
  });

  test('leaves out tasks that do not match the filter', () => {
    assert.deepEqual(order({ shown: (index) => index === 2 }), ['2']);
  });
});

suite('the facts of a task', () => {
  test('count attempts without a row as queued, and only verdicts for the rate', () => {
    const {
      counts,
      scored,
      passed: passes,
    } = taskFacts(
      {
        attempts: [
          passed(),
          failed(),
          aRow({ state: 'running' }),
          undefined,
          aRow({ progress: { status: 'infrastructure' } }),
        ],
      },
      8,
    );
    assert.deepEqual(
      {
        passed: counts.passed,
        failed: counts.failed,
        running: counts.running,
        infrastructure: counts.infrastructure,
        queued: counts.queued,
      },
      { passed: 1, failed: 1, running: 1, infrastructure: 1, queued: 4 },
    );
    assert.deepEqual([scored, passes], [2, 1]);
  });

  test('have medians of ended attempts', () => {
    const of = (steps: number, ms: number) => passed({ progress: { ...passed().progress, steps, ms } });
    assert.deepEqual(taskMedians({ attempts: [of(3, 30), of(9, 10), of(7, 20), aRow({ state: 'running' })] }), {
      steps: 7,
      ms: 20,
    });
    assert.deepEqual(taskMedians(undefined), { steps: undefined, ms: undefined });
  });

  test('have the most frequent cause, by which tasks are grouped', () => {
    const because = (text: string) => failed({ progress: { ...failed().progress, cause: { kind: 'check', text } } });
    const attempts = [because('no answer'), because('row not renewed'), passed(), because('row not renewed')];
    const facts = taskFacts({ attempts }, 4);
    assert.deepEqual(facts.cause, { text: 'row not renewed', outcome: 'failed', count: 2 });
    const all = [facts, taskFacts({ attempts: [passed()] }, 1), taskFacts(undefined, 1)];
    assert.deepEqual(
      arrange({
        tasks: 3,
        facts: (index) => all[index] ?? facts,
        level: () => undefined,
        scenario: () => undefined,
        spread: () => null,
        sort: 'task',
        group: 'cause',
        folded: new Set(),
      }).flatMap((row) => (row.kind === 'group' ? [row.name] : [])),
      ['row not renewed', 'not scored yet', 'all passed'],
    );
  });
});
