/** `rollout world lint`: what is wrong with scenarios of published worlds, where, and what to do. */
import path from 'node:path';
import { diskFiles } from '../../../client/disk.ts';
import { cacheFolder, lintFolder } from '../../../client/folders.ts';
import { lintScenarios } from '../../../client/published/lint.ts';
import { modesOf, ownScenario } from '../../../client/published/lintWorlds.ts';
import { openPublished } from '../../../client/published/open.ts';
import { problemText } from '../../../client/published/problems.ts';
import { scenarioNamed } from '../../../client/published/worlds.ts';
import { StudioError } from '../../../common/errors.ts';
import { fileKind } from '../../../common/fileKinds.ts';
import { plural } from '../../../common/text.ts';
import { findingText, isBroken, type ScenarioHealth, type WorldHealth } from '../../../common/worldHealth.ts';
import type { LoadedCodeWorld } from '../../../config/load/world.ts';
import { loadWorld } from '../../../config/load.ts';
import { problemsError } from '../../../config/source/problem.ts';
import { lintFully } from '../../../rerun/lintWorld.ts';
import { type CommandLine, flag, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';

/** What is linted, as the world file says. */
interface Linted {
  readonly folder: string;
  readonly loaded?: LoadedCodeWorld;
}

/** Lints the scenarios of a world file or of a folder: those that are named, or all. */
export async function lint(
  context: Context,
  world: string,
  named: readonly string[],
  commandLine: CommandLine,
): Promise<Outcome> {
  const linted = await worldOf(context, world);
  const worlds = await openPublished(linted.folder, context.signal);
  try {
    const own = linted.loaded === undefined ? undefined : ownScenario(linted.loaded);
    const wanted = named.length > 0 ? named : own === undefined ? [] : [own];
    const scenarios = wanted.length > 0 ? wanted.map((name) => scenarioNamed(worlds, name)) : worlds.scenarios;
    const { loaded } = linted;
    const options = {
      python: textOption(commandLine, 'python'),
      cache: lintFolder(context.env),
      modes: loaded === undefined ? undefined : modesOf(loaded),
      signal: context.signal,
    };
    const healths: ScenarioHealth[] = [];
    const report = (health: ScenarioHealth): void => {
      healths.push(health);
      if (!context.json) printHealth(context, worlds.folder, health);
    };
    const keys = scenarios.map(({ key }) => key);
    if (flag(commandLine, 'static')) for await (const health of lintScenarios(worlds, keys, options)) report(health);
    else {
      const templates = path.join(cacheFolder(context.env), 'worlds');
      await lintFully(worlds, keys, { ...options, world: loaded, templates }, report);
    }
    const problems = worlds.problems.filter(({ scenario }) => scenario === undefined).map(problemText);
    if (context.json) context.printJson({ folder: worlds.folder, scenarios: healths, problems } satisfies WorldHealth);
    else {
      for (const problem of problems) context.log(`✗ ${problem}`);
      context.log(summary(healths));
    }
    return healths.some((health) => isBroken(health) || health.stopped !== undefined) ? 1 : 0;
  } finally {
    await worlds.close();
  }
}

async function worldOf({ cwd }: Context, written: string): Promise<Linted> {
  if (fileKind(written) !== 'world') return { folder: path.resolve(cwd, written) };
  const files = diskFiles(cwd);
  const { value, problems } = await loadWorld(files, written);
  if (value?.kind === 'code') return { folder: value.scenarios.folder, loaded: value };
  if (value === undefined) throw problemsError(problems, files.absolute(cwd));
  throw new StudioError('usage', `The world ${value.file.name} is a module, which the lint cannot check.`, {
    hint: 'Check it with rollout check, and try it with rollout tool try.',
  });
}

function printHealth(context: Context, folder: string, { scenario, findings, stopped }: ScenarioHealth): void {
  if (findings.length === 0 && stopped === undefined) return;
  context.print(scenario);
  for (const finding of findings) {
    const file = path.relative(context.cwd, path.join(folder, finding.place.file));
    context.print(`  ${findingText(finding, file)}`);
  }
  if (stopped !== undefined) context.print(`  ${stopped}`);
}

function summary(healths: readonly ScenarioHealth[]): string {
  const findings = healths.flatMap((health) => health.findings);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const sound = healths.filter((health) => health.findings.length === 0 && health.stopped === undefined).length;
  const counts = `${plural(errors, 'error')}, ${plural(findings.length - errors, 'warning')}`;
  return `${counts} in ${plural(healths.length, 'scenario')}; nothing found in ${sound}.`;
}
