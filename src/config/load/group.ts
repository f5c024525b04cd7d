/** Checks of the `group` of a batch beyond its schema. */
import { StudioError } from '../../common/errors.ts';
import { compileFilter } from '../../trace/groups/filter.ts';
import type { GroupSection } from '../schema/groupSection.ts';
import type { ParsedFile } from '../source/parse.ts';
import { reportExpression } from './perturb.ts';
import type { Reading } from './reading.ts';

/** Reports a filter that does not compile, where its error is. */
export function checkGroup(reading: Reading, parsed: ParsedFile, { filter }: GroupSection): void {
  if (filter === undefined) return;
  try {
    compileFilter(filter);
  } catch (error) {
    if (!StudioError.is(error)) throw error;
    reportExpression(reading, parsed, ['group', 'filter'], filter, error);
  }
}
