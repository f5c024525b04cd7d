/** Reads the world that predicts recorded calls. */
import path from 'node:path';
import { loadWorld } from '../../config/load.ts';
import { formatProblem, problemsError } from '../../config/source/problem.ts';
import type { Submission, SubmittedWorld } from '../../config/submission.ts';
import { buildPredictor } from '../../config/submit.ts';
import type { Api } from '../../protocol/api.ts';
import type { TaskRecord } from '../../trace/task.ts';
import type { ForkPlace } from '../commands/forkSubmission.ts';
import type { LaunchBlob } from '../launch.ts';
import { filesAt, submitPorts } from '../submitFile.ts';
import { workspaceRoot } from '../workspace.ts';

interface TestedWorld {
  readonly world: SubmittedWorld;
  readonly env: Submission['env'];
  readonly secrets: Readonly<Record<string, string>>;
  readonly blobs: readonly LaunchBlob[];
  readonly warnings: readonly string[];
}

/** Throws StudioError `config` with the places of problems. */
export async function readTestedWorld(
  api: Api,
  file: string,
  tasks: readonly TaskRecord[],
  place: ForkPlace,
  signal: AbortSignal,
): Promise<TestedWorld> {
  const { cwd, env, within } = place;
  const absolute = path.resolve(cwd, file);
  const root = workspaceRoot(absolute, cwd);
  const files = filesAt(place);
  const { value, problems } = await loadWorld(files, absolute);
  if (value === undefined) throw problemsError(problems, files.absolute(cwd));
  const ports = { connect: () => Promise.resolve(api), signal };
  const built = await buildPredictor(value, tasks, root, submitPorts(files, root, env, within, ports));
  return {
    world: built.world,
    env: built.env,
    secrets: built.secrets,
    blobs: await Array.fromAsync(built.blobs),
    warnings: [...problems, ...built.warnings].map((problem) => formatProblem(problem, cwd)),
  };
}
