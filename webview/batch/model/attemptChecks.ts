/** What explains an attempt that did not pass: the checks of its score, or else a text. */
import { checksOf } from '../../../src/trace/checkRows.ts';
import type { Check } from '../../../src/trace/schema.ts';
import type { Cause, RolloutRow } from '../../../src/trace/summary.ts';
import type { TaskRecord } from '../../../src/trace/task.ts';
import { explanationAfter } from '../../trajectory/head/verdictText.ts';
import type { Outline } from './outline.ts';

/** Returns the checks of the score; of one without checks, the answer and the expected one. */
export function attemptChecks(
  outline: Pick<Outline, 'score' | 'end'> | undefined,
  task: TaskRecord | undefined,
  cause: Cause,
): readonly Check[] {
  const checks = outline?.score === undefined ? [] : checksOf(outline.score);
  if (checks.length > 0 || cause.kind !== 'answer') return checks;
  const [expected, end] = [task?.answer, outline?.end];
  if (expected === undefined || expected === null || end === undefined) return checks;
  return [{ name: 'answer', passed: false, expected, ...(end.answer === null ? {} : { actual: end.answer }) }];
}

/** Returns more about the cause, for an attempt without checks; undefined if there is nothing more to say. */
export function causeDetail(
  outline: Pick<Outline, 'score'> | undefined,
  { progress }: Pick<RolloutRow, 'progress'>,
  cause: Cause,
): string | undefined {
  return progress.error_message ?? explanationAfter(cause.text, outline?.score?.explanation);
}
