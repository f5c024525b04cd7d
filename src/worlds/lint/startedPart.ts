/** The parts of the lint that run code of the scenario: it is loaded, its reads are answered, its verifiers judge. */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorText, StudioError } from '../../common/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { Finding } from '../../common/worldHealth.ts';
import { calledTool, type LoadedScenario, loadedScenario, type RunnerFault, verified } from '../code/protocol.ts';
import { RunnerError, RunnerLost, type RunnerProcess } from '../code/runnerProcess.ts';
import type { Analysis } from './analysis.ts';
import { ask, COMPLETE, type StartedScenario, saidBy, VERIFIER_MS, VERIFIER_SECONDS, withProcess } from './process.ts';
import type { LintSource, PublishedVerifier } from './source.ts';

/** Loading takes about a second, unless the code computes. */
const LOAD_MS = 30_000;
const READ_MS = 5_000;

export interface StartedParts {
  readonly findings: readonly Finding[];
  /** Tools that wrote although the analysis says that they never do. */
  readonly wrote: readonly string[];
  /** Whether the verifiers ran, too. */
  readonly judged: boolean;
}

/** Runs a scenario. Throws StudioError `unavailable` if there is no Python, and if it is cancelled. */
export async function lintStarted(
  source: LintSource,
  analysis: Analysis,
  scenario: StartedScenario,
  signal: AbortSignal,
): Promise<StartedParts> {
  const lint = new StartedLint(source, analysis, scenario, signal);
  if (!(await lint.loads())) return { findings: lint.findings, wrote: [], judged: false };
  await lint.judges();
  return { findings: lint.findings, wrote: lint.wrote, judged: true };
}

class StartedLint {
  readonly findings: Finding[] = [];
  readonly wrote: string[] = [];
  readonly #source: LintSource;
  readonly #analysis: Analysis;
  readonly #scenario: StartedScenario;
  readonly #signal: AbortSignal;

  constructor(source: LintSource, analysis: Analysis, scenario: StartedScenario, signal: AbortSignal) {
    this.#source = source;
    this.#analysis = analysis;
    this.#scenario = scenario;
    this.#signal = signal;
  }

  /** Loads the scenario, and answers its reads. Returns whether it can be loaded. */
  async loads(): Promise<boolean> {
    // A scenario that cannot be forked needs a process for its single session.
    return (await this.#loads(true)) ?? (await this.#loads(false)) ?? false;
  }

  /** Returns undefined if its sessions cannot be forked. */
  async #loads(forks: boolean): Promise<boolean | undefined> {
    return await this.#withProcess(forks, async (process, folder) => {
      const files = { code: path.join(folder, 'scenario.py'), template: path.join(folder, 'template') };
      await writeFile(files.code, this.#scenario.code);
      await writeFile(files.template, this.#scenario.template);
      const { format, clock } = this.#scenario;
      const session = randomUUID();
      const own = { session, folder: path.join(folder, 'sessions', session), seed: 1 };
      let loaded: LoadedScenario;
      try {
        const fields = { ...files, format, clock, folder: path.join(folder, 'loading') };
        loaded = loadedScenario.parse(await this.#ask(process, 'load', fields, LOAD_MS));
        if (forks && !loaded.fork) return undefined;
        const memory_mb = this.#scenario.memoryMb;
        await this.#ask(process, 'open', { ...own, memory_mb }, LOAD_MS);
      } catch (error) {
        this.#cannotLoad(error);
        return false;
      }
      for (const tool of loaded.tools) {
        if (!process.alive) break;
        if (!this.#isRead(tool.name)) continue;
        if (!(await this.#read(process, session, tool))) break;
      }
      return true;
    });
  }

  /** Runs each verifier on the initial state. */
  async judges(): Promise<void> {
    const { verifiers } = this.#source;
    if (verifiers.length === 0) return;
    const forks = process.platform !== 'win32';
    if (forks) await this.#withProcess(true, (started, folder) => this.#judgeAll(started, folder, verifiers));
    else
      for (const verifier of verifiers)
        await this.#withProcess(false, (started, folder) => this.#judgeAll(started, folder, [verifier]));
  }

  /** Whether a tool should only read: a GET, or a function that writes no files. */
  #isRead(name: string): boolean {
    const { tools, pure = [] } = this.#analysis;
    return this.#scenario.format === 'awm' ? tools[name]?.method === 'get' : pure.includes(name);
  }

  /** Answers a read. Returns whether the session can go on. */
  async #read(process: RunnerProcess, session: string, tool: LoadedScenario['tools'][number]): Promise<boolean> {
    const { name } = tool;
    const found = this.#argsOf(name, tool.parameters);
    if (found === undefined) return true;
    const { args, guessed } = found;
    const what = `${name}(${JSON.stringify(args).slice(1, -1)})`;
    try {
      const { changes } = calledTool.parse(await this.#ask(process, 'call', { session, name, args }, READ_MS));
      if (changes !== null && changes.length > 0) this.wrote.push(name);
      return true;
    } catch (error) {
      if (error instanceof RunnerError && !failed(error.fault)) return true;
      const fault = error instanceof RunnerError ? error.fault : undefined;
      const why =
        fault?.why ?? (StudioError.is(error, 'cancelled') ? `no answer in ${READ_MS / 1000} s` : errorText(error));
      this.findings.push({
        kind: 'read_fails',
        // An ID that does not exist may be the agent's mistake.
        severity: guessed.length > 0 ? 'warning' : 'error',
        message: `${what} fails: ${why}`,
        hint:
          guessed.length > 0 ? `No row has a value for ${guessed.join(', ')}: check the line.` : 'Correct the line.',
        ...this.#source.codePlace(fault?.line, name),
        tool: name,
      });
      return error instanceof RunnerError;
    }
  }

  /**
   * Returns arguments for all that a tool requires: values of rows that exist, else examples of its specification.
   * `guessed`: the latter. undefined: there are none for some.
   */
  #argsOf(
    name: string,
    parameters: JsonObject,
  ): { readonly args: JsonObject; readonly guessed: readonly string[] } | undefined {
    const tool = this.#analysis.tools[name];
    const known = { ...this.#analysis.values, ...tool?.values };
    const properties = isJsonObject(parameters['properties']) ? parameters['properties'] : {};
    const required = Array.isArray(parameters['required']) ? parameters['required'].map(String) : [];
    const args: Record<string, Json> = {};
    const guessed: string[] = [];
    for (const each of required) {
      const value = known[each] ?? tool?.examples[each];
      if (value === undefined) return undefined;
      if (known[each] === undefined) guessed.push(each);
      args[each] = fitting(value, properties[each]);
    }
    return { args, guessed };
  }

  async #judgeAll(process: RunnerProcess, folder: string, verifiers: readonly PublishedVerifier[]): Promise<void> {
    const template = path.join(folder, 'template');
    await writeFile(template, this.#scenario.template);
    for (const verifier of verifiers) {
      if (!process.alive) break;
      await this.#judge(process, folder, template, verifier);
    }
  }

  async #judge(process: RunnerProcess, folder: string, template: string, verifier: PublishedVerifier): Promise<void> {
    const session = randomUUID();
    let printed = '';
    process.watch(session, {
      onLog: (_stream, text) => {
        printed += text.slice(0, 200);
      },
      onEnded: () => undefined, // the request says so
    });
    const { mode, python, task } = verifier;
    const request = { mode, python, function: verifier.function, session, template, answer: '' };
    const limits = { seconds: VERIFIER_SECONDS, memory_mb: this.#scenario.memoryMb, clock: this.#scenario.clock };
    const named = `the ${mode === 'sql' ? 'SQL' : 'code'} verifier of task ${task}`;
    try {
      const answer = await this.#ask(
        process,
        'verify',
        { ...request, ...limits, state: '', folder: path.join(folder, session) },
        VERIFIER_MS,
      );
      this.#checkResult(verifier, named, verified.parse(answer).result);
    } catch (error) {
      this.#verifierFailed(verifier, named, error);
    } finally {
      process.unwatch(session);
    }
    if (printed.trim() !== '')
      this.#report(verifier, 'verifier_prints', 'warning', `${named} prints: ${printed.trim().split('\n')[0] ?? ''}`, {
        hint: 'Remove the output: nobody reads it.',
      });
  }

  #checkResult(verifier: PublishedVerifier, named: string, result: Json): void {
    if (verifier.mode !== 'code') return;
    const said = saidBy(result);
    if (typeof said !== 'string') {
      const returned = JSON.stringify(result).slice(0, 80);
      this.#report(verifier, 'verifier_fails', 'error', `${named} returns ${returned}, without a text named result`, {
        hint: 'Return {"result": "complete"}, or another result.',
      });
      return;
    }
    if (said === COMPLETE) {
      this.#report(verifier, 'complete_at_start', 'error', `${named} says complete before anything was done`, {
        hint: 'Compare with the initial database, or judge the answer.',
      });
      return;
    }
    const looked = this.#analysis.verifiers.find(({ task, mode }) => task === verifier.task && mode === verifier.mode);
    const { written } = this.#analysis;
    if (looked === undefined || looked.answer || looked.tables.length === 0) return;
    if (looked.tables.some((table) => written.includes(table))) return;
    const tables = looked.tables.join(', ');
    this.#report(verifier, 'unreachable', 'error', `${named} can never say complete: no tool writes ${tables}`, {
      hint: 'Add a tool that writes what it needs, or correct what it reads.',
    });
  }

  #verifierFailed(verifier: PublishedVerifier, named: string, error: unknown): void {
    if (error instanceof RunnerLost && StudioError.is(error.cause)) throw error.cause;
    const fault = error instanceof RunnerError ? error.fault : undefined;
    const why = errorText(error);
    const more = { line: fault?.line };
    if (StudioError.is(error, 'cancelled') || /ran longer than|processor time|SIGXCPU/.test(why))
      this.#report(verifier, 'verifier_time', 'error', `${named} does not end within ${VERIFIER_SECONDS} s`, {
        ...more,
        hint: 'Correct its loop.',
      });
    else if (/MemoryError|SIGKILL/.test(why))
      this.#report(verifier, 'verifier_memory', 'error', `${named} takes more than ${this.#scenario.memoryMb} MB`, {
        ...more,
        hint: 'Correct what it collects.',
      });
    else if (/the code exited with/.test(why))
      this.#report(verifier, 'verifier_exits', 'error', `${named} exits instead of returning`, {
        ...more,
        hint: 'Return a result.',
      });
    else
      this.#report(
        verifier,
        'verifier_fails',
        'error',
        `${named} fails: ${why.replace(/^The verifier failed: /, '')}`,
        {
          ...more,
          hint: 'Correct the line.',
        },
      );
  }

  #report(
    verifier: PublishedVerifier,
    kind: Finding['kind'],
    severity: Finding['severity'],
    message: string,
    { hint, line }: { readonly hint: string; readonly line?: number | undefined },
  ): void {
    const { task } = verifier;
    this.findings.push({ kind, severity, message, hint, task, ...this.#source.verifierPlace(verifier, line) });
  }

  #cannotLoad(error: unknown): void {
    if (error instanceof RunnerLost && StudioError.is(error.cause)) throw error.cause;
    const fault = error instanceof RunnerError ? error.fault : undefined;
    const place = this.#source.codePlace(fault?.line, undefined);
    if (fault?.class === 'missing_package') {
      const hint = 'Run `rollout world setup`, or set `python` in the world file to an interpreter that has it.';
      const message = `the code needs the Python package ${fault.message}, which is not installed`;
      this.findings.push({ kind: 'missing_package', severity: 'error', message, hint, ...place });
      return;
    }
    const why = StudioError.is(error, 'cancelled') ? `it takes longer than ${LOAD_MS / 1000} s` : errorText(error);
    const message = `the code cannot be loaded: ${why.replace(/^The code cannot be loaded: /, '')}`;
    this.findings.push({ kind: 'load_fails', severity: 'error', message, hint: 'Correct the line.', ...place });
  }

  async #ask(process: RunnerProcess, op: string, fields: object, ms: number): Promise<unknown> {
    return await ask(process, { op, fields, ms }, this.#signal);
  }

  async #withProcess<T>(forks: boolean, run: (process: RunnerProcess, folder: string) => Promise<T>): Promise<T> {
    return await withProcess(this.#scenario, forks, run);
  }
}

/** Whether a call failed in the code, and was not refused. */
function failed({ class: kind, line, why }: RunnerFault): boolean {
  return kind !== 'invalid_arguments' && (why !== undefined || line !== undefined || kind === 'timeout');
}

/** Returns a value of a row as a schema wants it. */
function fitting(value: Json, schema: Json | undefined): Json {
  const type = isJsonObject(schema) ? schema['type'] : undefined;
  if (type === 'string' && typeof value !== 'string') return JSON.stringify(value);
  if ((type === 'integer' || type === 'number') && typeof value === 'string' && Number.isFinite(Number(value)))
    return Number(value);
  return value;
}
