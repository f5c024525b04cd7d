/**
 * Runs published verifiers. They have a process without any code of a scenario, in a sandbox of its own: neither what a
 * rollout left behind nor other sessions can read them or change what they see.
 */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { abortable } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import { abortedError } from '../../tools/aborted.ts';
import type { ToolEnvironment, ToolPools } from '../../tools/environment.ts';
import { removeProgramsFolder } from '../../tools/removeProgramsFolder.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { clockOf } from './clock.ts';
import { verified } from './protocol.ts';
import { RunnerError, RunnerLost, type RunnerProcess, wasKilled } from './runnerProcess.ts';
import { makeFolder, startProcess } from './scenarioRunner.ts';

/** As Agent World Model limits them. */
const SECONDS = 20;
const MEMORY_MB = 512;

export interface VerifierRequest {
  readonly mode: 'code' | 'sql';
  /** Its source, and the function in it to call. */
  readonly python: string;
  readonly function: string;
  /** Interpreter that the world file names. */
  readonly interpreter: string | undefined;
  /** Blob of the scenario's initial state. */
  readonly template: string;
  /** Snapshot of the final state; undefined: nothing has changed since the start. */
  readonly state: Uint8Array | undefined;
  readonly answer: Json;
  readonly clock: ReturnType<typeof clockOf>;
}

/** Why a verifier returned nothing: it failed, ran too long, or took too much memory. */
export interface VerifierFault {
  /** A phrase, with the line. */
  readonly text: string;
  /** As a sentence, without the line. */
  readonly message: string;
  /** Where in its source, if that is known. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/** What a verifier returned, or why it did not. */
export interface VerifierRun {
  readonly result: Json;
  readonly fault?: VerifierFault;
}

type VerifierEnvironment = Pick<ToolEnvironment, 'sandbox' | 'readBlob'>;

interface Started {
  readonly process: RunnerProcess;
  readonly folder: string;
  readonly groups: ToolPools['processGroups'];
  /** Files of templates, by hash. */
  readonly templates: Map<string, Promise<string>>;
}

export class VerifierRunner {
  readonly #pools: ToolPools;
  /** By sandbox and interpreter. */
  readonly #started = new Map<string, Promise<Started>>();

  constructor(pools: ToolPools) {
    this.#pools = pools;
  }

  /** Runs a verifier. Throws ClassedError if the run is interrupted, StudioError for what this machine lacks. */
  async run(request: VerifierRequest, environment: VerifierEnvironment, signal: AbortSignal): Promise<VerifierRun> {
    try {
      return await this.#run(request, environment, signal);
    } catch (error) {
      if (!wasKilled(error) || signal.aborted) throw runError(error, signal);
    }
    // It changes nothing: one that somebody else killed is run again.
    return await this.#run(request, environment, signal).catch((error: unknown) => {
      if (error instanceof RunnerError) return { result: null, fault: faultOf(error) };
      throw runError(error, signal);
    });
  }

  /** Throws RunnerError only if somebody else killed it. */
  async #run(request: VerifierRequest, environment: VerifierEnvironment, signal: AbortSignal): Promise<VerifierRun> {
    const forks = process.platform !== 'win32';
    const started = await (forks ? this.#shared(request, environment) : this.#start(request, environment, false));
    try {
      const session = randomUUID();
      const running = started.process.request('verify', {
        ...{ mode: request.mode, python: request.python, function: request.function, answer: request.answer },
        ...{ session, folder: path.join(started.folder, session), clock: request.clock },
        template: await template(started, request.template, environment),
        ...(request.state === undefined ? {} : { state: Buffer.from(request.state).toString('base64') }),
        seconds: SECONDS,
        memory_mb: MEMORY_MB,
      });
      const late = AbortSignal.timeout((SECONDS + 10) * 1000); // it is killed before
      return { result: verified.parse(await abortable(running, AbortSignal.any([signal, late]))).result };
    } catch (error) {
      if (error instanceof RunnerError && !wasKilled(error)) return { result: null, fault: faultOf(error) };
      if (!signal.aborted && StudioError.is(error, 'cancelled')) await started.process.close();
      throw error;
    } finally {
      if (!forks) await end(started);
    }
  }

  async close(): Promise<void> {
    const all = [...this.#started.values()];
    this.#started.clear();
    await Promise.all(all.map((started) => started.then(end, () => undefined)));
  }

  async #shared(request: VerifierRequest, environment: VerifierEnvironment): Promise<Started> {
    const key = JSON.stringify([request.interpreter, environment.sandbox]);
    const known = this.#started.get(key);
    if (known !== undefined) {
      const started = await known;
      if (started.process.alive) return started;
      // It was lost a moment ago, and is still being cleaned up.
      if (this.#started.get(key) === known) this.#started.delete(key);
      return await this.#shared(request, environment);
    }
    const starting = this.#start(request, environment, true);
    this.#started.set(key, starting);
    const forget = (): void => {
      if (this.#started.get(key) === starting) this.#started.delete(key);
    };
    starting.then(async (started) => {
      await started.process.ended;
      forget();
      await end(started); // removes its folder
    }, forget);
    return await starting;
  }

  async #start({ interpreter }: VerifierRequest, { sandbox }: VerifierEnvironment, forks: boolean): Promise<Started> {
    const folder = await makeFolder(this.#pools);
    try {
      const started = await startProcess({ pools: this.#pools, sandbox }, folder, interpreter, forks);
      return { process: started, folder, groups: this.#pools.processGroups, templates: new Map() };
    } catch (error) {
      await removeProgramsFolder(folder, this.#pools.processGroups);
      throw error;
    }
  }
}

/** Writes a template for verifiers, once. */
function template({ folder, templates }: Started, sha: string, { readBlob }: VerifierEnvironment): Promise<string> {
  const known = templates.get(sha);
  if (known !== undefined) return known;
  const write = async (): Promise<string> => {
    const file = path.join(folder, `template-${sha}`);
    await writeFile(file, await readBlob(sha));
    return file;
  };
  const writing = write();
  templates.set(sha, writing);
  writing.catch(() => templates.delete(sha));
  return writing;
}

async function end({ process: started, folder, groups }: Started): Promise<void> {
  await started.close();
  await removeProgramsFolder(folder, groups);
}

function runError(error: unknown, signal: AbortSignal): Error {
  if (signal.aborted) return abortedError(signal);
  if (error instanceof RunnerLost && StudioError.is(error.cause)) return error.cause;
  return ClassedError.from(error, 'world_error');
}

function faultOf({ fault: { class: of, message, line, column } }: RunnerError): VerifierFault {
  const isMissing = of === 'missing_package';
  const text = isMissing
    ? `it needs the Python package ${message}, which is not installed`
    : message.replace(/\.$/, '');
  return {
    text: line === undefined ? text : `${text} (line ${line})`,
    message: isMissing ? `The verifier needs the Python package ${message}, which is not installed.` : `${text}.`,
    line,
    column,
  };
}
