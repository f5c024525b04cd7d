/** Worlds of kind `code`: published environments, of which a task names a scenario. */

import { StudioError } from '../../common/errors.ts';
import type { SubmittedCodeWorld } from '../../config/submission/world.ts';
import type { World } from '../../rollout/ports.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import { datasetId } from '../../trace/task.ts';
import { Runners } from './runners.ts';
import { ScenarioRunner, type ScenarioSource } from './scenarioRunner.ts';
import { CodeSession } from './session.ts';
import { verifyFinalState } from './verify.ts';

/**
 * A world of published scenarios. `environment`: that of the rollout that opens the world. `judges`: whether the world
 * is the scorer, too; only then are its verifiers read, in a process that has none of the scenario's code.
 */
export function codeWorld(submitted: SubmittedCodeWorld, environment: ToolEnvironment, judges: boolean): World {
  return {
    name: submitted.name,
    kind: submitted.kind,
    open: async ({ task, seed, from }, signal) => {
      const source = sourceOf(submitted, task.world?.scenario, datasetId(task));
      const { runner, release } = await runnerFor(source, environment, signal);
      const session = await CodeSession.open(
        runner,
        {
          world: submitted.name,
          seed,
          from,
          memoryMb: submitted.session.memory_mb,
          expose: submitted.expose,
          only: submitted.tools,
          pure: source.scenario.pure,
          onLog: environment.onLog?.bind(environment),
          release,
        },
        signal,
      );
      if (!judges) return session;
      session.verify = async ({ answer, expected, troubles = {} }, context) =>
        verifyFinalState({
          source,
          task,
          answer,
          expected,
          troubles,
          state: await session.snapshot(context.signal),
          environment,
          context,
        });
      return session;
    },
  };
}

/** Returns the scenario of a task. Throws StudioError `config`. */
function sourceOf(world: SubmittedCodeWorld, name: string | undefined, task: string): ScenarioSource {
  const scenario = name === undefined ? undefined : world.scenarios[name];
  if (name !== undefined && scenario !== undefined) return { world, name, scenario };
  throw new StudioError(
    'config',
    name === undefined
      ? `The task ${task} names no scenario of the world ${world.name}.`
      : `The world ${world.name} was submitted without the scenario ${name}, which the task ${task} names.`,
    { hint: 'Set `world: { scenario: NAME }` in the task, or `scenario` in the world file, and submit again.' },
  );
}

/** Returns a loaded scenario. One that cannot be forked runs a single session. */
async function runnerFor(
  source: ScenarioSource,
  environment: ToolEnvironment,
  signal: AbortSignal,
): ReturnType<Runners['acquire']> {
  const shared = await environment.pools.only(Runners).acquire(source, environment);
  if (shared.runner.loaded.fork) return shared;
  await shared.release();
  const own = await ScenarioRunner.start(source, environment, false, signal);
  return { runner: own, release: () => own.close() };
}
