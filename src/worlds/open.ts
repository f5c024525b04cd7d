/** Opens worlds for rollouts, repeated calls, and tool trials. */
import { type SubmittedCodeWorld, TEMPLATE_TIME } from '../config/submission/world.ts';
import type { SubmittedWorld } from '../config/submission.ts';
import type { World } from '../rollout/ports.ts';
import type { ToolEnvironment } from '../tools/environment.ts';
import type { TaskRecord } from '../trace/task.ts';
import { codeWorld } from './code/open.ts';
import { factsWorld } from './facts/session.ts';
import { moduleWorld } from './module.ts';
import { recordedWorld } from './recorded/open.ts';
import { replayWorld } from './recorded/replay.ts';
import { hybridWorld } from './simulated/hybrid.ts';
import { simulatedWorld } from './simulated/open.ts';
import { realTools } from './simulated/realTools.ts';

/** Returns the submitted world, whose sessions run in the environment of their rollout. `judges`: it is the scorer. */
export function openWorld(submitted: SubmittedWorld, environment: ToolEnvironment, judges = false): World {
  switch (submitted.kind) {
    case 'module':
      return moduleWorld(submitted, environment, judges);
    case 'code':
      return {
        ...codeWorld(submitted, environment, judges),
        about: (task) => aboutScenario(submitted, task),
      };
    case 'simulated': {
      const { worlds, real_tools: tools } = submitted;
      if (tools !== undefined) return hybridWorld(submitted, realTools(submitted, tools, environment));
      if (submitted.facts !== undefined) return factsWorld(submitted, submitted.facts, environment);
      return worlds?.real === undefined
        ? simulatedWorld(submitted)
        : hybridWorld(submitted, openWorld(worlds.real, environment, judges));
    }
    case 'recorded':
      return recordedWorld(
        submitted,
        environment,
        submitted.worlds?.otherwise === undefined ? undefined : openWorld(submitted.worlds.otherwise, environment),
      );
    case 'replay':
      return replayWorld(submitted, environment);
  }
}

/** Describes what a task opens of a world with scenarios. */
function aboutScenario(
  { scenarios, clock = { start: TEMPLATE_TIME, step: 1 } }: SubmittedCodeWorld,
  { world }: TaskRecord,
): ReturnType<NonNullable<World['about']>> {
  const { scenario } = world ?? {};
  const template = scenario === undefined ? undefined : scenarios[scenario]?.template;
  return {
    ...(scenario === undefined ? {} : { scenario }),
    ...(template === undefined ? {} : { template }),
    clock,
  };
}
