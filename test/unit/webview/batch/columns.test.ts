import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ALL_COLUMNS,
  type ColumnChoice,
  type ColumnId,
  columnChoice,
  columnsOf,
  resized,
  toggled,
} from '../../../../webview/batch/model/columns.ts';
import { absentColumns, causeIn, columnText, lineOf } from '../../../../webview/batch/model/rowTexts.ts';
import { taskFacts } from '../../../../webview/batch/model/taskFacts.ts';
import { failed, passed } from './rows.ts';

const NONE = new Set<ColumnId>();

function columns(room: number, choice: ColumnChoice = ALL_COLUMNS, absent: ReadonlySet<ColumnId> = NONE) {
  return columnsOf({ from: 500, to: 500 + room }, choice, absent);
}

function widths(room: number, choice?: ColumnChoice, absent?: ReadonlySet<ColumnId>): Record<string, number> {
  return Object.fromEntries(columns(room, choice, absent).map(({ id, width }) => [id, width]));
}

describe('the columns after the cells', () => {
  it('share the room: question 1.3, cause 234, expected answer 0.88', () => {
    assert.deepEqual(widths(862), { steps: 56, time: 72, question: 298, cause: 234, answer: 201 });
    const all = columns(862);
    for (const [i, { x }] of all.entries()) {
      const before = all[i - 1];
      assert.equal(x, before === undefined ? 500 : before.x + before.width);
    }
  });

  it('are left out where there is no room, the cause last', () => {
    for (const [room, ids] of [
      [548, 'steps time question cause answer'],
      [547, 'steps time question cause'],
      [420, 'steps question cause'],
      [310, 'question cause'],
      [290, 'steps time cause'],
      [150, 'cause'],
      [149, 'steps time'],
      [50, ''],
    ] as const) {
      const fitting = columns(room);
      assert.equal(fitting.map(({ id }) => id).join(' '), ids, String(room));
      assert.ok(fitting.reduce((sum, { width }) => sum + width, 0) <= room);
    }
  });

  it('leave the room of a hidden or empty column to the others', () => {
    assert.deepEqual(widths(600, ALL_COLUMNS, new Set<ColumnId>(['answer', 'question'])), {
      steps: 56,
      time: 72,
      cause: 472,
    });
    const hidden = toggled(toggled(ALL_COLUMNS, 'answer'), 'time');
    assert.deepEqual(widths(600, hidden), { steps: 56, question: 310, cause: 234 });
    assert.deepEqual(toggled(toggled(hidden, 'time'), 'answer'), ALL_COLUMNS);
  });

  it('are resized at the expense of the next one, and not below the minimum', () => {
    const choice = resized(ALL_COLUMNS, columns(862), 'question', 350);
    assert.deepEqual(widths(862, choice), { steps: 56, time: 72, question: 350, cause: 182, answer: 202 });
    const least = resized(ALL_COLUMNS, columns(862), 'question', 10);
    assert.equal(widths(862, least)['question'], 150);
    const most = resized(ALL_COLUMNS, columns(862), 'question', 5_000);
    assert.equal(widths(862, most)['cause'], 150);
    assert.equal(resized(ALL_COLUMNS, columns(862), 'answer', 300), ALL_COLUMNS);
  });

  it('keep what was resized when there is more or less room', () => {
    const choice = resized(ALL_COLUMNS, columns(862), 'question', 350);
    assert.deepEqual(widths(1_000, choice), { steps: 56, time: 72, question: 350, cause: 182, answer: 340 });
    assert.deepEqual(widths(600, choice), { steps: 56, time: 72, question: 202, cause: 150, answer: 120 });
  });

  it('read what was remembered, and nothing else', () => {
    const choice: ColumnChoice = { hidden: ['time'], widths: { question: 350 } };
    assert.deepEqual(columnChoice(JSON.parse(JSON.stringify(choice))), choice);
    for (const other of [undefined, null, 3, [], { hidden: 'time', widths: 4 }, { hidden: ['x'], widths: { x: 3 } }])
      assert.deepEqual(columnChoice(other), ALL_COLUMNS);
    assert.deepEqual(columnChoice({ hidden: [], widths: { cause: '12', answer: Infinity } }), ALL_COLUMNS);
  });
});

describe('the texts of a row', () => {
  const attempts = [
    failed({ attempt: 1, progress: { ...failed().progress, cause: { kind: 'answer', text: 'answer wrong' } } }),
    failed({ attempt: 2, progress: { ...failed().progress, cause: { kind: 'limit', text: 'step limit' } } }),
    failed({ attempt: 3, progress: { ...failed().progress, cause: { kind: 'limit', text: 'step limit' } } }),
    passed({ attempt: 4 }),
  ];
  const facts = taskFacts({ attempts }, 4);
  const view = (attempt: number | undefined, records: Parameters<typeof absentColumns>[0]['records'] = []) => ({
    cursor: attempt === undefined ? undefined : ({ on: 'cell', index: 0, attempt } as const),
    data: { tasks: [{ attempts }], records },
    row: (_index: number, number: number) => attempts[number - 1],
    facts: () => facts,
  });

  it('have the cause of the attempt at the cursor, or else the most frequent one', () => {
    assert.deepEqual(causeIn(view(undefined), 0), { text: 'step limit', outcome: 'failed', count: 2 });
    assert.deepEqual(causeIn(view(1), 0), { text: 'answer wrong', outcome: 'failed' });
    assert.equal(columnText(view(4), 0, 'cause'), 'step limit 2');
    assert.equal(columnText(view(1), 0, 'cause'), 'answer wrong');
    const good = taskFacts({ attempts: [passed()] }, 1);
    assert.equal(columnText({ ...view(4), facts: () => good }, 0, 'cause'), '');
  });

  it('have the name of a task without a question', () => {
    const records = [
      { id: 't1', question: '  ', meta: {} },
      { id: 't2', question: 'Renew it.', answer: ['M-204', 3], meta: {} },
    ];
    assert.equal(columnText(view(1, records), 0, 'question'), 't1');
    assert.equal(columnText(view(1, records), 1, 'question'), 'Renew it.');
    assert.equal(columnText(view(1, records), 1, 'answer'), 'M-204, 3');
    assert.equal(columnText(view(1, records), 2, 'question'), '');
    assert.equal(columnText(view(1, records), 0, 'steps'), '8');
  });

  it('leave out columns without content, once all tasks are loaded', () => {
    const records = [{ id: 't1', question: '', meta: {} }];
    const none = { records, hasQuestions: false, hasAnswers: false };
    assert.deepEqual([...absentColumns(none, 1)], ['question', 'answer']);
    assert.deepEqual([...absentColumns(none, 2)], []);
    assert.deepEqual([...absentColumns({ ...none, hasAnswers: true }, 1)], ['question']);
  });

  it('are one line', () => {
    assert.equal(lineOf('Dear desk,\n\n\tplease  renew. '), 'Dear desk, please renew.');
    assert.equal(lineOf('x'.repeat(2_000_000)).length, 400);
  });
});
