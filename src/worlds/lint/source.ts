/** What the lint needs of a scenario, whatever the format of its files. */
import type { Finding } from '../../common/worldHealth.ts';
import type { Where } from './analysis.ts';

export interface LintSource {
  readonly scenario: string;
  /** What the analysis reads. */
  readonly request: object;
  /** Changes with everything that the lint looks at. */
  readonly hash: string;
  /** What is wrong with the files themselves. */
  readonly findings: readonly Finding[];
  place(where: Where): Pick<Finding, 'place' | 'source'>;
}
