/** `rollout world drive`: a session of a world, driven by JSON lines. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { workspaceRoot } from '../../../client/workspace.ts';
import { errorText, StudioError, systemCodeOf } from '../../../common/errors.ts';
import { fileKind } from '../../../common/fileKinds.ts';
import { isSameJson, type Json } from '../../../common/json.ts';
import type { Api } from '../../../protocol/api.ts';
import { type DriveMessage, type DriveRequest, driveRequest, KEPT_AS, type KeptAs } from '../../../protocol/drive.ts';
import { Drive } from '../../../rerun/drive/drive.ts';
import { keptFile } from '../../../rerun/drive/keep.ts';
import { ownScenarioOf, readScenarioWorld, readWorldFile } from '../../../rerun/drive/scenarioWorld.ts';
import { withTryEnvironment } from '../../../rerun/tryEnvironment.ts';
import { type BatchWorld, readBatchWorld, type TaskWorld } from '../../../rerun/tryInWorld.ts';
import type { Verdict } from '../../../rollout/ports.ts';
import { type CommandLine, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';
import { liveModels } from '../../sideModels.ts';
import { batchOf } from './batchOf.ts';

/** Drives a world file, or the world of a batch file, until stdin ends. */
export async function drive(context: Context, file: string, commandLine: CommandLine): Promise<Outcome> {
  const { signal } = context;
  const keep = keptAs(textOption(commandLine, 'keep'));
  const from = await worldToDrive(context, file, commandLine);
  const send = (message: DriveMessage): void => context.print(JSON.stringify(message));
  const { blobs, task, sandbox } = from;
  const print = (text: string): void => send({ type: 'log', text });
  await withTryEnvironment({ blobs, task, sandbox, signal, print }, async (environment) => {
    const session = await Drive.open(from, environment, print, liveModels(context, task.id, from.callSeed), signal);
    const driver = new Driver(session, send, signal);
    try {
      send({
        type: 'opened',
        world: from.world.name,
        ...('batch' in from ? { batch: from.batch } : {}),
        task: task.id,
        question: task.question,
        seed: from.seed,
        canVerify: session.canVerify,
        canSnapshot: session.canSnapshot,
        tools: session.specs.map((spec) => ({ ...spec, from: { kind: spec.from.kind, name: spec.from.name } })),
      });
      const lines = createInterface({ input: process.stdin, signal });
      for await (const line of lines) if (line.trim() !== '') await driver.handle(line);
      if (keep !== undefined) await driver.keep({ id: 0, op: 'keep', as: keep });
    } finally {
      await session.close();
    }
  });
  return 0;
}

/** Returns the world for a task: of a batch file, or, in a code world without one, of a scenario's own tasks. */
async function worldToDrive(
  { cwd, env, connect }: Context,
  file: string,
  commandLine: CommandLine,
): Promise<BatchWorld | TaskWorld> {
  const apiOf = async (): Promise<Api> => (await connect()).api;
  const task = textOption(commandLine, 'task');
  const scenario = textOption(commandLine, 'scenario');
  const batch = textOption(commandLine, 'batch') ?? (fileKind(file) === 'batch' ? file : undefined);
  if (batch !== undefined) {
    if (scenario === undefined) return await readBatchWorld(batch, task, cwd, env, apiOf);
    throw new StudioError('usage', '--scenario cannot be used with a batch file.', {
      hint: 'Tasks of a batch name their scenarios: choose one with --task.',
    });
  }
  const loaded = await readWorldFile(file, cwd);
  if (loaded.kind === 'code') {
    const own = scenario ?? ownScenarioOf(loaded);
    if (own !== undefined) return await readScenarioWorld(loaded, own, task, cwd, env);
  } else if (scenario !== undefined)
    throw new StudioError('usage', `The world ${loaded.file.name} is a module, which has no scenarios.`, {
      hint: 'Remove --scenario.',
    });
  const used = await batchOf(file, cwd);
  if (used !== undefined) return await readBatchWorld(used, task, cwd, env, apiOf);
  throw new StudioError('not_found', `No batch file in ${workspaceRoot(path.resolve(cwd, file), cwd)} uses ${file}.`, {
    hint:
      loaded.kind === 'code'
        ? 'Name a scenario with --scenario: it has its own tasks.'
        : 'A batch file says which tasks there are: name one with --batch.',
  });
}

function keptAs(text: string | undefined): KeptAs | undefined {
  if (text === undefined) return undefined;
  const as = KEPT_AS.find((each) => each === text);
  if (as !== undefined) return as;
  throw new StudioError('usage', `--keep must be one of ${KEPT_AS.join(', ')}, not “${text}”.`);
}

/** Answers requests one after another. */
class Driver {
  readonly #drive: Drive;
  readonly #send: (message: DriveMessage) => void;
  readonly #signal: AbortSignal;
  /** The last verdict, with the state that it is about. */
  #verdict: { readonly state: number; readonly answer: Json; readonly verdict: Verdict } | undefined;

  constructor(drive: Drive, send: (message: DriveMessage) => void, signal: AbortSignal) {
    this.#drive = drive;
    this.#send = send;
    this.#signal = signal;
  }

  async handle(line: string): Promise<void> {
    let id: number | undefined;
    try {
      const request = driveRequest.parse(JSON.parse(line));
      id = request.id;
      await this.#perform(request);
    } catch (error) {
      this.#signal.throwIfAborted();
      const isKnown = StudioError.is(error);
      this.#send({
        type: 'failed',
        ...(id === undefined ? {} : { id }),
        message: isKnown ? error.message : errorText(error),
        ...(isKnown && error.hint !== undefined ? { hint: error.hint } : {}),
      });
    }
  }

  async #perform(request: DriveRequest): Promise<void> {
    const { id } = request;
    const drive = this.#drive;
    switch (request.op) {
      case 'call': {
        const { retries, changes, files, ...call } = await drive.call(request.tool, request.arguments, this.#signal);
        this.#send({
          ...{ type: 'called', id, state: drive.state, states: drive.states },
          call: {
            ...call,
            ...(retries === undefined ? {} : { retries: [...retries] }),
            ...(changes === undefined ? {} : { changes: [...changes] }),
            ...(files === undefined ? {} : { files: [...files] }),
          },
        });
        return;
      }
      case 'go':
        await drive.go(request.state, this.#signal);
        this.#send({ type: 'at', id, state: drive.state, states: drive.states });
        return;
      case 'branch':
        drive.branch();
        this.#send({ type: 'at', id, state: drive.state, states: drive.states });
        return;
      case 'states':
        this.#send({ type: 'at', id, state: drive.state, states: drive.states });
        return;
      case 'verify': {
        const { checks, parts, ...verdict } = await this.#verify(request.answer ?? null);
        this.#send({
          ...{ type: 'verdict', id },
          verdict: {
            ...{ state: drive.state, ...verdict },
            ...(parts === undefined ? {} : { parts: { ...parts } }),
            ...(checks === undefined ? {} : { checks: [...checks] }),
          },
        });
        return;
      }
      case 'keep':
        await this.keep(request);
    }
  }

  async keep({ id, as, file, answer }: Extract<DriveRequest, { op: 'keep' }>): Promise<void> {
    const { root } = this.#drive.from;
    const last = this.#verdict;
    const isSame = last?.state === this.#drive.state && isSameJson(last.answer, answer ?? null);
    const known = isSame ? last.verdict : undefined;
    const verdict = known ?? (this.#drive.canVerify && as !== 'test' ? await this.#verify(answer ?? null) : undefined);
    const write = async (copy: number): Promise<string> => {
      const kept = keptFile(this.#drive, as, verdict, answer, copy);
      const target = path.resolve(root, file ?? kept.path);
      await mkdir(path.dirname(target), { recursive: true });
      try {
        // A file that was named is replaced; what was kept before is not.
        await writeFile(target, kept.text, { flag: file === undefined ? 'wx' : 'w' });
        return target;
      } catch (error) {
        if (systemCodeOf(error) !== 'EEXIST') throw error;
        return (await readFile(target, 'utf8')) === kept.text ? target : await write(copy + 1);
      }
    };
    this.#send({ type: 'kept', id, as, file: await write(1) });
  }

  async #verify(answer: Json): Promise<Verdict> {
    const verdict = await this.#drive.verify(answer, this.#signal);
    this.#verdict = { state: this.#drive.state, answer, verdict };
    return verdict;
  }
}
