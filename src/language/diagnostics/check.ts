/** All problems of one agent, world or batch file, with those of everything it names. */
import { checkConfig } from '../../config/checkFiles.ts';
import { type Problem, sortProblems } from '../../config/source/problem.ts';
import { watched } from '../workspace/cachedFiles.ts';
import type { Workspace } from '../workspace.ts';
import { memberProblems } from './members.ts';
import { servedProblems } from './served.ts';

/** So many records of a dataset are looked at while one types; `rollout check` looks at all. */
const RECORDS = 200;

export interface CheckResult {
  readonly problems: readonly Problem[];
  /** Every file that was looked at, or for: a change of one of them may change what is found. */
  readonly looked: ReadonlySet<string>;
}

export async function checkFile(workspace: Workspace, path: string): Promise<CheckResult> {
  const looked = new Set([path]);
  const files = watched(workspace.files, looked, (file, text) => workspace.parse(file, text));
  const problems = [
    ...((await checkConfig(files, path, RECORDS)) ?? []),
    ...(await memberProblems(workspace, path, looked)),
    ...(await servedProblems(workspace, path)),
  ];
  return { problems: sortProblems(problems), looked };
}
