/** A place where a name stands: the name alone, without quotes or folders. */
import type { Range } from '../../config/source/problem.ts';

export interface Place {
  readonly file: string;
  readonly range: Range;
  readonly role: 'definition' | 'use';
  /** It is called so whatever the thing is called: `{{task.question}}` is the question whichever column that is. */
  readonly fixed?: true;
}
