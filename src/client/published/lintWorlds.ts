/** Problems that the lint finds in scenarios of world files: for `rollout check`, and before a batch is submitted. */
import { StudioError } from '../../common/errors.ts';
import type { Finding, ScenarioHealth } from '../../common/worldHealth.ts';
import { scenarioName } from '../../config/load/scenarios.ts';
import type { LoadedCodeWorld } from '../../config/load/world.ts';
import { loadWorld } from '../../config/load.ts';
import { joinPath } from '../../config/paths.ts';
import type { Problem } from '../../config/source/problem.ts';
import { diskFiles } from '../disk.ts';
import { lintFolder } from '../folders.ts';
import { lintScenarios } from './lint.ts';
import { openPublished } from './open.ts';
import { scenarioNamed } from './worlds.ts';

/** Beyond as many problems of one world, only errors are reported. */
const MAX_PROBLEMS = 50;

/** Returns the verifiers that the tasks of a world need. */
export function modesOf({ file: { verifier } }: LoadedCodeWorld): readonly ('code' | 'sql')[] {
  return verifier === 'both' ? ['code', 'sql'] : [verifier];
}

/** Returns the scenario of a world file; undefined if each task names its own. */
export function ownScenario({ file: { scenario }, scenarios }: LoadedCodeWorld): string | undefined {
  return scenario === undefined ? undefined : scenarioName(scenarios, scenario);
}

/** Lints the scenario that a world file names. Returns nothing for a file with errors, or without a scenario. */
export async function lintWorldFile(file: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Problem[]> {
  const { value } = await loadWorld(diskFiles(), file);
  if (value?.kind !== 'code') return [];
  const scenario = ownScenario(value);
  return scenario === undefined ? [] : await worldProblems(value, [scenario], env, signal);
}

interface WorldProblemOptions {
  readonly which?: 'all' | 'errors';
  /** Called with the health of each scenario. */
  readonly seen?: (health: ScenarioHealth) => void;
}

/**
 * Lints scenarios of a world file, as its `lint` says: with `warn`, errors are warnings. Returns a single warning if
 * this machine has no Python. Throws StudioError `cancelled`.
 */
export async function worldProblems(
  world: LoadedCodeWorld,
  names: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  { which = 'all', seen }: WorldProblemOptions = {},
): Promise<Problem[]> {
  const { lint } = world.file;
  if (lint === 'off' || names.length === 0) return [];
  const problems: Problem[] = [];
  try {
    for await (const health of healths(world, names, env, signal)) {
      const { scenario, findings } = health;
      seen?.(health);
      for (const finding of findings)
        if (finding.severity === 'error' || (which === 'all' && problems.length < MAX_PROBLEMS))
          problems.push(problemOf(world, scenario, lint === 'warn' ? { ...finding, severity: 'warning' } : finding));
    }
  } catch (error) {
    if (!StudioError.is(error, 'unavailable')) throw error;
    const hint = `${error.hint ?? ''} Or write \`lint: off\`.`.trim();
    const message = `the scenarios are not linted: ${error.message}`;
    problems.push(world.parsed.problem(['from'], { code: 'unmet', severity: 'warning', message, hint }));
  }
  return problems;
}

async function* healths(
  world: LoadedCodeWorld,
  names: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): AsyncGenerator<ScenarioHealth> {
  const worlds = await openPublished(world.scenarios.folder, signal);
  try {
    const keys = names.map((name) => scenarioNamed(worlds, name).key);
    yield* lintScenarios(worlds, keys, { cache: lintFolder(env), modes: modesOf(world), signal });
  } finally {
    await worlds.close();
  }
}

function problemOf({ scenarios }: LoadedCodeWorld, scenario: string, finding: Finding): Problem {
  const { line, column, file } = finding.place;
  return {
    file: joinPath(scenarios.folder, file),
    ...{ line, column, endLine: line, endColumn: column + 1 },
    message: `${scenario}: ${finding.message}`,
    hint: finding.hint,
    severity: finding.severity,
    code: 'world',
  };
}
