/** Finds the problems of an agent, world, or batch file and of all files it references. */
import { fileKind } from '../../common/fileKinds.ts';
import { checkConfig } from '../../config/checkFiles.ts';
import { type Problem, sortProblems } from '../../config/source/problem.ts';
import { trackReads } from '../workspace/cachedFiles.ts';
import type { Workspace } from '../workspace.ts';
import { healthProblems } from './health.ts';
import { memberProblems } from './members.ts';
import { queueProblems } from './queues.ts';
import { ruleProblems } from './rules.ts';
import { servedProblems } from './served.ts';

/** Number of dataset records checked while typing. `rollout check` checks all. */
const RECORDS = 200;

export interface CheckResult {
  readonly problems: readonly Problem[];
  /** All files that the check read or searched for, whose changes may affect the result. */
  readonly dependencies: ReadonlySet<string>;
}

export async function checkFile(workspace: Workspace, path: string): Promise<CheckResult> {
  const dependencies = new Set([path]);
  const files = trackReads(workspace.files, dependencies, (file, text) => workspace.parse(file, text));
  const problems = [
    ...((await checkConfig(files, path, RECORDS)) ?? []),
    ...(await memberProblems(workspace, path, dependencies)),
    ...(await servedProblems(workspace, path)),
    ...(await queueProblems(workspace, path)),
    ...(await healthProblems(workspace, files, path)),
    ...(await rulesOfFile(workspace, path, dependencies)),
  ];
  return { problems: sortProblems(problems), dependencies };
}

async function rulesOfFile(workspace: Workspace, path: string, dependencies: Set<string>): Promise<Problem[]> {
  const parsed = fileKind(path) === 'world' ? await workspace.parsed(path) : undefined;
  return parsed === undefined ? [] : ruleProblems(workspace, parsed, dependencies);
}
