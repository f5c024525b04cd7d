/** Checks that an executor's workers have the programs that the tools of a submission need. */
import { StudioError } from '../common/errors.ts';
import { type Need, needsOf } from '../config/needs.ts';
import type { Submission } from '../config/submission.ts';

/** Throws `config` with a line for each need for which `unmet` returns a text. */
export function requireNeeds(
  submission: Submission,
  problemOf: (need: Need) => { readonly message: string; readonly hint: string } | undefined,
): void {
  const lines = needsOf(submission).flatMap((need) => {
    const text = problemOf(need);
    return text === undefined ? [] : [`${need.at}: ${text.message} — ${text.hint}`];
  });
  if (lines.length > 0) throw new StudioError('config', [...new Set(lines)].join('\n'));
}
