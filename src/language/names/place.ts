/** An occurrence of a name, without quotes or folders. */
import type { Range } from '../../config/source/problem.ts';

export interface Place {
  readonly file: string;
  readonly range: Range;
  readonly role: 'definition' | 'use';
  /** Whether the name is fixed: `{{task.question}}` is the question, whatever its column is called. */
  readonly fixed?: true;
}
