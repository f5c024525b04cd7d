/** What the lint needs of a scenario, whatever the format of its files. */
import type { Finding } from '../../common/worldHealth.ts';
import type { Where } from './analysis.ts';

/** A verifier as published. */
export interface PublishedVerifier {
  readonly task: number;
  readonly mode: 'code' | 'sql';
  readonly python: string;
  readonly function: string;
}

export interface LintSource {
  readonly scenario: string;
  /** What the analysis reads. */
  readonly request: object;
  /** Changes with everything that the lint looks at. */
  readonly hash: string;
  /** What is wrong with the files themselves. */
  readonly findings: readonly Finding[];
  readonly verifiers: readonly PublishedVerifier[];
  place(where: Where): Pick<Finding, 'place' | 'source'>;
  /** Returns where a line of the code is; without one, its first line, or that of a tool with code of its own. */
  codePlace(line: number | undefined, tool: string | undefined): Pick<Finding, 'place' | 'source'>;
  verifierPlace(
    verifier: Pick<PublishedVerifier, 'task' | 'mode'>,
    line: number | undefined,
  ): Pick<Finding, 'place' | 'source'>;
}
