/** The texts in the columns of a task's row. */
import { oneLine } from '../../../src/common/text.ts';
import { count, duration } from '../../../src/common/units.ts';
import { causeOf } from '../../../src/trace/cause.ts';
import { checkText } from '../../../src/trace/checkRows.ts';
import { type Outcome, outcomeOf } from '../../../src/trace/outcome.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import type { TaskRecord } from '../../../src/trace/task.ts';
import type { ColumnId } from './columns.ts';
import type { Cursor } from './move.ts';
import { type AttemptRows, type TaskFacts, taskMedians } from './taskFacts.ts';

interface TextSource {
  readonly cursor: Cursor | undefined;
  readonly data: {
    readonly tasks: readonly (AttemptRows | undefined)[];
    readonly records: readonly (TaskRecord | undefined)[];
  };
  row(index: number, attempt: number): RolloutRow | undefined;
  facts(index: number): TaskFacts;
}

export interface ShownCause {
  readonly text: string;
  readonly outcome: Outcome;
  /** Attempts of the task with this cause; absent for a single attempt. */
  readonly count?: number;
}

/** Returns the cause in a row: that of the attempt at the cursor, or else the most frequent one. */
export function causeIn(view: TextSource, index: number): ShownCause | undefined {
  const { cursor } = view;
  const row = cursor?.on === 'cell' && cursor.index === index ? view.row(index, cursor.attempt) : undefined;
  const cause = row === undefined ? undefined : causeOf(row);
  if (row === undefined || cause === undefined) return view.facts(index).cause;
  return { text: cause.text, outcome: outcomeOf(row) };
}

/** Returns the beginning of the question, or the name of a task without one; empty before it is loaded. */
export function questionOf(record: TaskRecord | undefined): string {
  if (record === undefined) return '';
  return record.question.trim() === '' ? record.id : record.question;
}

/** Returns the beginning of the expected answer; empty if there is none. */
export function answerOf(record: TaskRecord | undefined): string {
  return record?.answer === undefined || record.answer === null ? '' : checkText(record.answer);
}

/** Returns the text in a column. */
export function columnText(view: TextSource, index: number, id: ColumnId): string {
  if (id === 'steps' || id === 'time') {
    const { steps, ms } = taskMedians(view.data.tasks[index]);
    if (id === 'steps') return steps === undefined ? '' : count(steps);
    return ms === undefined ? '' : duration(ms);
  }
  if (id === 'question') return questionOf(view.data.records[index]);
  if (id === 'answer') return answerOf(view.data.records[index]);
  const cause = causeIn(view, index);
  return cause === undefined ? '' : `${cause.text}${cause.count === undefined ? '' : ` ${cause.count}`}`;
}

/** Characters of a text that can be visible in a column. */
const MAX_LINE = 400;

/** Returns the beginning of a text as one line. */
export function lineOf(text: string): string {
  return oneLine(text.slice(0, MAX_LINE));
}

interface ColumnSource {
  readonly records: readonly TaskRecord[];
  readonly hasQuestions: boolean;
  readonly hasAnswers: boolean;
}

/** Returns the text columns that are empty in every row, once all `tasks` are loaded. */
export function absentColumns({ records, hasQuestions, hasAnswers }: ColumnSource, tasks: number): Set<ColumnId> {
  const absent = new Set<ColumnId>();
  if (records.length === 0 || records.length < tasks) return absent;
  if (!hasQuestions) absent.add('question');
  if (!hasAnswers) absent.add('answer');
  return absent;
}
