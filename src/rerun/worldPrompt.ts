/** The system prompt of a simulated world, as its model gets it. Calls no tool, and asks no model. */
import { diskFiles } from '../client/disk.ts';
import { submitPorts } from '../client/submitFile.ts';
import { workspaceRoot } from '../client/workspace.ts';
import { StudioError } from '../common/errors.ts';
import { fileKind } from '../common/fileKinds.ts';
import { Bundles } from '../config/submit/blobs.ts';
import { plannedSimulation, readSimulation } from '../config/submit/simulation.ts';
import type { Api } from '../protocol/api.ts';
import { systemPrompt } from '../worlds/simulated/prompt.ts';
import { readWorldFile } from './drive/scenarioWorld.ts';
import { withTryEnvironment } from './tryEnvironment.ts';
import { openSession, readBatchWorld } from './tryInWorld.ts';

export interface WorldPrompt {
  /** Name of the world. */
  readonly world: string;
  /** Batch file and task that it was filled for. Absent: `{{task.NAME}}` is as written. */
  readonly batch?: string;
  readonly task?: string;
  readonly prompt: string;
}

interface PromptOptions {
  /** Batch file whose tasks fill the prompt. Absent: it is not filled. */
  readonly batch: string | undefined;
  /** Default: the first one of the batch. */
  readonly task: string | undefined;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly connect: () => Promise<Api>;
  readonly signal: AbortSignal;
}

/**
 * Reads all that the world takes from elsewhere, as a submission does, and opens its real world. Throws StudioError
 * `config` for a world that is not simulated, or cannot be read or opened.
 */
export async function worldPrompt(file: string, options: PromptOptions): Promise<WorldPrompt> {
  const { batch, task, cwd, env, connect, signal } = options;
  if (fileKind(file) === 'world' && batch === undefined) return await unfilledPrompt(file, options);
  const from = await readBatchWorld(batch ?? file, task, cwd, env, connect);
  const { blobs, sandbox, world } = from;
  if (world.kind !== 'simulated') throw notSimulated(world.name);
  return await withTryEnvironment({ blobs, task: from.task, sandbox, signal }, async (environment) => {
    const session = await openSession(from, environment, signal);
    const { prompt = '' } = session;
    await session.close();
    return { world: world.name, batch: from.batch, task: from.task.id, prompt };
  });
}

/** Returns the prompt without a task. */
async function unfilledPrompt(file: string, { cwd, env, connect, signal }: PromptOptions): Promise<WorldPrompt> {
  const loaded = await readWorldFile(file, cwd);
  const { name } = loaded.file;
  if (loaded.kind !== 'simulated') throw notSimulated(name);
  if (loaded.file.real !== undefined)
    throw new StudioError(
      'not_found',
      loaded.worlds.real === undefined
        ? `No batch file uses ${name}, so its real tools are opened for no task.`
        : `No batch file uses ${name}, so its real world, which has the tools, has no task.`,
      {
        hint: 'Create a batch file that uses it, or name one with --batch.',
      },
    );
  const files = diskFiles(cwd);
  const root = workspaceRoot(loaded.path, cwd);
  const ports = submitPorts(files, root, env, undefined, { connect, signal });
  const planned = await plannedSimulation(loaded, root, ports, new Bundles(ports));
  const { world } = await readSimulation(loaded, planned, root, files, ports.simulation);
  return { world: name, prompt: systemPrompt(world, world.texts) };
}

function notSimulated(name: string): StudioError {
  return new StudioError('config', `No model plays the world ${name}, so it has no prompt.`, {
    hint: 'Choose a world of kind `simulated`.',
  });
}
