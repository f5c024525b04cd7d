/** The context meters of simulated worlds: how many calls fit before the history is too long for their models. */
import type { Files } from '../../config/files.ts';
import { worldsIn } from '../../config/load/world.ts';
import { type ContextMeter, meterText } from '../../config/simulation/meter.ts';
import { agentsOf, type Submission, type SubmittedSimulatedWorld, worldsOf } from '../../config/submission.ts';
import { submittedSimulatedWorld } from '../../config/submit/sections.ts';
import { loadFiles } from '../commands/loadedFiles.ts';
import { workspaceRoot } from '../workspace.ts';
import { measureWorld } from './measureWorld.ts';

type Values = Readonly<Record<string, string | undefined>>;

export interface WorldMeter extends ContextMeter {
  readonly world: string;
  /** Its file, relative to the workspace. */
  readonly file: string;
  /** Steps that the agent may make, if fewer fit. */
  readonly steps?: number;
  /** Whether more is read when a batch is submitted, so that fewer calls fit. */
  readonly partial: boolean;
  /** What the meter says, in words. */
  readonly text: string;
}

/** Returns the meters of the simulated worlds of a submission. */
export async function submissionMeters(
  submission: Submission,
  env: Values,
  signal: AbortSignal,
): Promise<WorldMeter[]> {
  const worlds = worldsOf(submission).filter((world) => world.kind === 'simulated');
  const steps = Math.max(...agentsOf(submission).map(({ limits }) => limits.steps));
  return await Promise.all(worlds.map((world) => meterOf(world, { env, signal, steps })));
}

/** A simulated world of a file. */
export interface FileWorld {
  readonly world: SubmittedSimulatedWorld;
  /** Whether more of it is read when a batch is submitted. */
  readonly partial: boolean;
  /** The most steps that an agent of the files may make in it. */
  readonly steps: number;
}

/** Returns the simulated worlds of files, each once. Files with errors have none. */
export async function fileWorlds(files: Files, paths: readonly string[], folder: string): Promise<FileWorld[]> {
  const found = new Map<string, FileWorld>();
  for (const { world: outer, agent } of await loadFiles(files, paths))
    for (const world of worldsIn(outer)) {
      if (world.kind !== 'simulated') continue;
      const { tools, state, demonstrations } = world.simulation;
      const partial =
        state !== undefined ||
        demonstrations !== undefined ||
        world.file.real !== undefined ||
        !tools.every((each) => 'definitions' in each);
      const submitted = submittedSimulatedWorld(world, workspaceRoot(world.path, folder));
      const steps = Math.max(agent?.file.limits.steps ?? 0, found.get(world.path)?.steps ?? 0);
      found.set(world.path, { world: submitted, partial, steps });
    }
  return [...found.values()];
}

/** Returns the meters of the simulated worlds of files, each once. */
export async function fileMeters(
  files: Files,
  paths: readonly string[],
  folder: string,
  env: Values,
  signal: AbortSignal,
): Promise<WorldMeter[]> {
  const worlds = await fileWorlds(files, paths, folder);
  return await Promise.all(worlds.map((each) => meterOfFile(each, env, signal)));
}

/** `ask`: whether its endpoint is asked. */
export function meterOfFile(
  { world, partial, steps }: FileWorld,
  env: Values,
  signal: AbortSignal,
  ask = true,
): Promise<WorldMeter> {
  return meterOf(world, { env, signal, steps, partial, ask });
}

async function meterOf(
  world: SubmittedSimulatedWorld,
  {
    env,
    signal,
    steps,
    partial = false,
    ask = true,
  }: {
    readonly env: Values;
    readonly signal: AbortSignal;
    readonly steps: number;
    readonly partial?: boolean;
    readonly ask?: boolean;
  },
): Promise<WorldMeter> {
  const meter = await measureWorld(world, env, signal, ask);
  const few = meter.turns !== undefined && meter.turns < steps;
  const text = [
    `World ${world.name}: ${meterText(meter)}`,
    ...(partial ? ['fewer with what is read at the launch'] : []),
    ...(few ? [`the agent may make ${steps} steps`] : []),
  ].join('; ');
  return {
    ...meter,
    world: world.name,
    file: world.file,
    partial,
    ...(few ? { steps } : {}),
    text: `${text}.`,
  };
}
