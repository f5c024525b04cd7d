/** Tries a tool in a world, with the world and the seeds of the first attempt of a task. Nothing is recorded. */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { diskFiles } from '../client/disk.ts';
import { submitPorts } from '../client/submitFile.ts';
import { workspaceRoot } from '../client/workspace.ts';
import { StudioError } from '../common/errors.ts';
import { seedOf } from '../common/hash.ts';
import type { Redactor } from '../common/redaction/redactor.ts';
import { MODULE_ENDINGS } from '../config/load/tools.ts';
import { loadBatch } from '../config/load.ts';
import { relative } from '../config/paths.ts';
import { problemsError } from '../config/source/problem.ts';
import type { SubmittedSandbox, SubmittedWorld } from '../config/submission.ts';
import type { SubmissionBlob } from '../config/submit/blobs.ts';
import { submittedSandbox } from '../config/submit/sections.ts';
import { buildWorld } from '../config/submit.ts';
import type { Api } from '../protocol/api.ts';
import type { ToolSpec, WorldSession } from '../rollout/ports.ts';
import { worldSeed } from '../rollout/world.ts';
import type { ToolEnvironment } from '../tools/environment.ts';
import { readRegular } from '../tools/regularFile.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { TaskRecord } from '../trace/task.ts';
import { openWorld } from '../worlds/open.ts';
import { hidingWorldValues, withoutSecrets, withWorldValues } from './toolValues.ts';
import { callAndClose, type ToolCall, type TriedCall, TryLog, withTryEnvironment } from './tryEnvironment.ts';

/** The world that is opened for a task. */
export interface TaskWorld {
  /** Folder of the workspace. */
  readonly root: string;
  readonly world: SubmittedWorld;
  readonly task: TaskRecord;
  /** Seed of the world. */
  readonly seed: number;
  /** Seed of the first call of the task's first attempt. */
  readonly callSeed: number;
  /** Default time limit. */
  readonly seconds: number;
  readonly sandbox: SubmittedSandbox;
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

/** The world that a batch opens for one of its tasks. */
export interface BatchWorld extends TaskWorld {
  /** Path of the batch file, relative to the root. */
  readonly batch: string;
  /** Hides the values of its real tools. */
  readonly secrets: Redactor;
}

const bundleMap = z.object({ sources: z.array(z.string()) });

/**
 * Reads the world of a batch file for the task `id`, or for the first task. Throws StudioError `config` for problems in
 * the file, if it has no world, and for an unknown task. `connect`: to the store that has recorded attempts.
 */
export async function readBatchWorld(
  batch: string,
  id: string | undefined,
  cwd: string,
  env: NodeJS.ProcessEnv,
  connect?: () => Promise<Api>,
): Promise<BatchWorld> {
  const root = workspaceRoot(path.resolve(cwd, batch), cwd);
  const files = diskFiles(cwd);
  // Loads all tasks: a scorer may need a field that only some of them lack.
  const { value, problems } = await loadBatch(files, batch, { root });
  if (value === undefined) throw problemsError(problems, files.absolute(cwd));
  const {
    world: loaded,
    agent,
    dataset: { spec },
  } = value;
  if (loaded === undefined)
    throw new StudioError('config', `${batch} has no world.`, {
      hint: 'Use a batch file with `world:`, or try the tool without --batch.',
    });
  const { path: file, format, columns } = spec;
  const dataset = {
    ...value.dataset,
    spec: id === undefined ? { ...spec, limit: 1 } : { path: file, format, columns, offset: 0, only: new Set([id]) },
  };
  const { world, blobs, tasks } = await buildWorld(
    { ...value, world: loaded, dataset },
    submitPorts(files, root, env, undefined, { connect }),
  );
  const [task] = await Array.fromAsync(tasks);
  if (task === undefined)
    throw problemsError(
      (await loadBatch(files, batch, { root, ...(id === undefined ? {} : { tasks: [id] }) })).problems,
      files.absolute(cwd),
    );
  const { seed } = value.file;
  return {
    batch: relative(root, value.path),
    root,
    world: withWorldValues(world, env),
    secrets: hidingWorldValues(world, env),
    task,
    seed: worldSeed(task, seed),
    callSeed: seedOf(seedOf(seed, task.id, 1), agent.file.name, 1, 0),
    seconds: agent.file.limits.tool_seconds,
    sandbox: submittedSandbox(value, files),
    blobs: await keptBlobs(blobs),
  };
}

/** Reads blobs into memory. */
export async function keptBlobs(
  blobs: AsyncIterable<SubmissionBlob> | Iterable<SubmissionBlob>,
): Promise<Map<string, Uint8Array>> {
  const kept = new Map<string, Uint8Array>();
  for await (const blob of blobs)
    kept.set(blob.sha, 'bytes' in blob ? blob.bytes : await readRegular(blob.path, Infinity));
  return kept;
}

/**
 * Calls a tool of the world. `file`: absolute path of a module of the world, or of any other file that refers to the
 * world. Throws StudioError `config` if the world cannot be opened, and `not_found` if it has no such tool.
 */
export async function tryInWorld(
  from: BatchWorld,
  file: string,
  call: ToolCall,
  onOutput: (text: string) => void,
  signal: AbortSignal,
): Promise<TriedCall> {
  await checkUses(from, file);
  const log = new TryLog(onOutput, from.secrets);
  const {
    world: { name },
    task,
    seed,
    callSeed,
    seconds,
    sandbox,
    blobs,
  } = from;
  return withoutSecrets(from.secrets, () =>
    withTryEnvironment({ blobs, task, sandbox, signal, print: log.print }, async (environment) => {
      const session = await openSession(from, environment, signal);
      const result = await callAndClose(
        session,
        specOf(session, call.tool, from),
        { arguments: call.arguments, seed: callSeed },
        seconds,
        log,
        signal,
      );
      return { ...result, world: { name, task: task.id, seed } };
    }),
  );
}

/** Checks that the file is part of the world: a tool with the same name in another module is a different tool. */
async function checkUses({ world, batch, root, blobs }: BatchWorld, file: string): Promise<void> {
  if (world.kind !== 'module' || !MODULE_ENDINGS.some((ending) => file.endsWith(ending))) return;
  const { sources } = bundleMap.parse(JSON.parse(new TextDecoder().decode(blobs.get(world.module.map))));
  // Resolves links, as the bundler does.
  const [top, full] = await Promise.all([root, file].map((named) => realpath(named).catch(() => named)));
  if (sources.includes(relative(top ?? root, full ?? file))) return;
  throw new StudioError('not_found', `${path.basename(file)} is not part of the world ${world.name} of ${batch}.`, {
    hint:
      `Use a batch whose world has the tool, return it from \`open\` in ${world.module.file}, or try it without ` +
      '--batch.',
  });
}

/**
 * Opens a session. `judges`: whether it has the verifiers of a code world. `from`: a snapshot. Throws StudioError
 * `config`, with the place, if the world cannot be opened.
 */
export async function openSession(
  { world, task, seed }: TaskWorld,
  environment: ToolEnvironment,
  signal: AbortSignal,
  { judges = false, from }: { readonly judges?: boolean; readonly from?: Uint8Array | undefined } = {},
): Promise<WorldSession> {
  try {
    const opening = { task, seed, ...(from === undefined ? {} : { from }) };
    return await openWorld(world, environment, judges).open(opening, signal);
  } catch (thrown) {
    if (!(thrown instanceof ClassedError) || thrown.class === 'cancelled') throw thrown;
    const { place, message } = thrown;
    throw new StudioError(
      'config',
      `${place === undefined ? fileOf(world) : `${place.file}:${place.line}:${place.column}`}: cannot open the ` +
        `world ${world.name} for task ${task.id}: ${message}`,
      {
        hint: `Fix ${world.kind === 'module' ? 'its `open`' : 'the scenario'}, or choose another task with --task.`,
        cause: thrown,
      },
    );
  }
}

function fileOf(world: SubmittedWorld): string {
  return world.kind === 'module' ? world.module.file : world.file;
}

function specOf({ specs }: WorldSession, tool: string, { world, batch }: BatchWorld): ToolSpec {
  const spec = specs.find(({ name }) => name === tool);
  if (spec === undefined)
    throw new StudioError('not_found', `The world ${world.name} of ${batch} has no tool ${tool}.`, {
      hint: `Available tools: ${specs.map(({ name }) => name).join(', ')}.`,
    });
  return spec;
}
