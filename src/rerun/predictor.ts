/**
 * What predicts a call outside of its rollout. A prediction asks a model or a recording, and nothing else: what is real
 * in a world is neither opened nor called. So of a hybrid only the model is asked, for each tool, whoever answers its
 * calls in a rollout; the definitions of the real tools are those that the recorded agent had.
 */
import path from 'node:path';
import { diskFiles } from '../client/disk.ts';
import { seenTools } from '../client/fidelity/readRecording.ts';
import { submitPorts } from '../client/submitFile.ts';
import { workspaceRoot } from '../client/workspace.ts';
import { StudioError } from '../common/errors.ts';
import type { Json } from '../common/json.ts';
import { type Redactor, redactor } from '../common/redaction/redactor.ts';
import { DEFAULTS } from '../config/defaults.ts';
import { envNamesIn } from '../config/env.ts';
import type { LoadedRecordedWorld, LoadedSimulatedWorld } from '../config/load/world.ts';
import type { SubmittedRecordedWorld, SubmittedSimulatedWorld, SubmittedWorld } from '../config/submission.ts';
import { Bundles } from '../config/submit/blobs.ts';
import { plannedSimulation, readSimulation } from '../config/submit/simulation.ts';
import { buildPredictor } from '../config/submit.ts';
import { matchesTool } from '../config/tools/toolPattern.ts';
import type { Api } from '../protocol/api.ts';
import { worldSeed } from '../rollout/world.ts';
import { callSeed } from '../trace/callSeed.ts';
import type { ToolSpan } from '../trace/model/spans.ts';
import { readWorldFile } from './drive/scenarioWorld.ts';
import type { RolloutRecord } from './recordedCall.ts';
import { workspaceSandbox } from './tryEnvironment.ts';
import { keptBlobs, type TaskWorld } from './tryInWorld.ts';

export type Predictor = TaskWorld & {
  readonly world: SubmittedSimulatedWorld | SubmittedRecordedWorld;
  /** Hides the values that its models get. */
  readonly secrets: Redactor;
  /** Of a call whose real answer a model changed: what the real tool returned. */
  readonly real?: Json;
};

interface PredictorPlace {
  /** The world file. */
  readonly world: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Reads the world file, and what opens it for the task of the rollout. Throws StudioError: `usage` for a world that
 * really does what it is asked, `config` for problems in files.
 */
export async function readPredictor(
  api: Api,
  record: RolloutRecord,
  span: ToolSpan,
  { world: file, cwd, env }: PredictorPlace,
  signal: AbortSignal,
): Promise<Predictor> {
  const { info, model, whole } = record;
  const loaded = await readWorldFile(file, cwd);
  const root = workspaceRoot(path.resolve(cwd, file), cwd);
  const ports = submitPorts(diskFiles(cwd), root, env, undefined, { connect: () => Promise.resolve(api), signal });
  const { seed = DEFAULTS.seed } = model.start?.data ?? {};
  const common = {
    root,
    task: info.task,
    seed: worldSeed(info.task, seed),
    callSeed: callSeed(model, span, seed),
    seconds: DEFAULTS.limits.tool_seconds,
    sandbox: workspaceSandbox(root),
  };
  switch (loaded.kind) {
    case 'recorded': {
      const { world, blobs } = await builtRecording(loaded, info.task, root, ports);
      return { ...common, world, secrets: secretsOf(world, env), blobs };
    }
    case 'simulated': {
      const { world, blobs } = await readWorld(loaded, root, ports);
      const own = { ...common, secrets: secretsOf(world, env), blobs };
      if (loaded.file.real === undefined) return { ...own, world };
      const recorded = await seenTools(api, model, signal);
      if (recorded.length === 0)
        throw new StudioError(
          'usage',
          `${loaded.file.name} has the definitions of its tools from what is real in it, which a prediction does not ` +
            'open, and this rollout has none.',
          { hint: 'Use a world file without `real`, whose `tools` have the definitions.' },
        );
      const defined = new Set(recorded.map(({ name }) => name));
      const definitions = [...recorded, ...world.definitions.filter(({ name }) => !defined.has(name))];
      const { source, real } = span.end?.data ?? {};
      const isOverlay = source === 'overlay' && routeOf(world, span.start.data.name) === 'overlay';
      return {
        ...own,
        world: { ...world, definitions },
        ...(isOverlay && real !== undefined ? { real: await whole(real) } : {}),
      };
    }
    default:
      throw new StudioError(
        'usage',
        `The world ${loaded.file.name} has no model that predicts (kind: ${loaded.kind}).`,
        {
          hint:
            'Use a world file of kind `simulated` or `recorded`. To make the call again in its own world, leave out ' +
            '--predict.',
        },
      );
  }
}

async function readWorld(
  loaded: LoadedSimulatedWorld,
  root: string,
  ports: ReturnType<typeof submitPorts>,
): Promise<{ readonly world: SubmittedSimulatedWorld; readonly blobs: ReadonlyMap<string, Uint8Array> }> {
  const { real: _, ...file } = loaded.file;
  const alone = { ...loaded, file, worlds: {} };
  const planned = await plannedSimulation(alone, root, ports, new Bundles(ports));
  const { world } = await readSimulation(alone, planned, root, ports.files, ports.simulation);
  return { world, blobs: await keptBlobs(planned.blobs) };
}

async function builtRecording(
  loaded: LoadedRecordedWorld,
  task: RolloutRecord['info']['task'],
  root: string,
  ports: ReturnType<typeof submitPorts>,
): Promise<{ readonly world: SubmittedRecordedWorld; readonly blobs: ReadonlyMap<string, Uint8Array> }> {
  const { world, blobs } = await buildPredictor(loaded, [task], root, ports);
  if (world.kind !== 'recorded') throw new StudioError('internal', `The world ${world.name} changed its kind.`);
  return { world, blobs: await keptBlobs(blobs) };
}

/** Names and addresses of models are not secret. */
function secretsOf(world: SubmittedWorld, env: NodeJS.ProcessEnv): Redactor {
  const { otherwise } = world.worlds ?? {};
  const models = [world, otherwise].flatMap((each) => (each?.kind === 'simulated' ? [each.model] : []));
  const secret = JSON.stringify(models.map((model) => [model.api_key, model.headers]));
  return redactor(envNamesIn(secret).map((name) => env[name] ?? ''));
}

function routeOf({ route = [] }: SubmittedSimulatedWorld, tool: string): string | undefined {
  return route.find(({ tools }) => tools.some((pattern) => matchesTool(pattern, tool)))?.by;
}
