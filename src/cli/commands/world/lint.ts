/** `rollout world lint`: what is wrong with scenarios of published worlds, where, and what to do. */
import path from 'node:path';
import { connect } from '../../../client/connect.ts';
import { diskFiles } from '../../../client/disk.ts';
import { cacheFolder, lintFolder } from '../../../client/folders.ts';
import { lintScenarios } from '../../../client/published/lint.ts';
import { modesOf, ownScenario } from '../../../client/published/lintWorlds.ts';
import { openPublished } from '../../../client/published/open.ts';
import { finalState, passingRollouts } from '../../../client/published/passing.ts';
import { problemText } from '../../../client/published/problems.ts';
import { referenceSolutions } from '../../../client/published/solutions.ts';
import { scenarioNamed } from '../../../client/published/worlds.ts';
import { resolveBatch } from '../../../client/reference.ts';
import { LOCAL } from '../../../client/targets/local.ts';
import { workspaceRoot } from '../../../client/workspace.ts';
import { StudioError } from '../../../common/errors.ts';
import { fileKind } from '../../../common/fileKinds.ts';
import { plural } from '../../../common/text.ts';
import {
  findingText,
  isBroken,
  type ScenarioHealth,
  type VerifierStrength,
  type WorldHealth,
} from '../../../common/worldHealth.ts';
import type { LoadedCodeWorld } from '../../../config/load/world.ts';
import { loadWorld } from '../../../config/load.ts';
import { problemsError } from '../../../config/source/problem.ts';
import type { Api } from '../../../protocol/api.ts';
import { lintFully, type PassingStates } from '../../../rerun/lintWorld.ts';
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
      const passing = await passingStates(context, new Set(keys), textOption(commandLine, 'runs'));
      const solutions =
        loaded === undefined
          ? undefined
          : await referenceSolutions(workspaceRoot(loaded.path, context.cwd), loaded.file.name, new Set(keys));
      await lintFully(worlds, keys, { ...options, world: loaded, templates, passing, solutions }, report);
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

/** Returns rollouts that passed: of a batch, or the newest of the store, for which no server is started. */
async function passingStates(
  context: Context,
  scenarios: ReadonlySet<string>,
  batch: string | undefined,
): Promise<PassingStates | undefined> {
  const { signal } = context;
  const api = batch === undefined ? await runningServer(context) : (await context.connect()).api;
  if (api === undefined) return undefined;
  const named = batch === undefined ? undefined : await resolveBatch(api, batch, signal);
  return {
    rollouts: await passingRollouts(api, scenarios, named, signal),
    finalState: (rollout, stop) => finalState(api, rollout, stop),
  };
}

async function runningServer({ target = LOCAL, store, signal, connect: connectTo }: Context): Promise<Api | undefined> {
  try {
    return (await (target === LOCAL ? connect({ store, start: false, signal }) : connectTo())).api;
  } catch (error) {
    if (StudioError.is(error, 'unavailable')) return undefined;
    throw error;
  }
}

function printHealth(context: Context, folder: string, health: ScenarioHealth): void {
  const { scenario, findings, stopped, strength } = health;
  if (findings.length === 0 && stopped === undefined && strength.length === 0) return;
  context.print(scenario);
  for (const finding of findings) {
    const file = path.relative(context.cwd, path.join(folder, finding.place.file));
    context.print(`  ${findingText(finding, file)}`);
  }
  for (const each of strength) context.print(`  ${strengthText(each)}`);
  if (stopped !== undefined) context.print(`  ${stopped}`);
}

function strengthText({ task, verifier, from, mutants, rejected, accepted }: VerifierStrength): string {
  const named = `the ${verifier === 'sql' ? 'SQL' : 'code'} verifier of task ${task}`;
  const but = accepted.length === 0 ? '' : `, but not: ${accepted.join(', ')}`;
  return `${named} rejects ${rejected} of ${mutants} mutants of ${from}${but}`;
}

function summary(healths: readonly ScenarioHealth[]): string {
  const findings = healths.flatMap((health) => health.findings);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const sound = healths.filter((health) => health.findings.length === 0 && health.stopped === undefined).length;
  const counts = `${plural(errors, 'error')}, ${plural(findings.length - errors, 'warning')}`;
  const others = healths.length > 1 ? `; no findings in ${sound}` : '';
  return `${counts} in ${plural(healths.length, 'scenario')}${others}.`;
}
