/**
 * Measures how well verifiers tell a passing final state from ones that are wrong: each row that changed is made as it
 * was before, and a row is added, one at a time.
 */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import { isSameJson, type Json } from '../../common/json.ts';
import { type Finding, isWeak, type VerifierStrength } from '../../common/worldHealth.ts';
import { stateMutants, verified } from '../code/protocol.ts';
import { RunnerError, RunnerLost, type RunnerProcess } from '../code/runnerProcess.ts';
import { ask, COMPLETE, type StartedScenario, saidBy, VERIFIER_MS, VERIFIER_SECONDS, withProcess } from './process.ts';
import type { LintSource, PublishedVerifier } from './source.ts';

/** Mutants that a finding names. */
const NAMED = 5;

/** The final state of a task that passed. */
export interface PassingState {
  readonly task: number;
  /** ID of the rollout, or file of the reference solution. */
  readonly from: string;
  /** It is a reference solution, which no verifier has accepted yet. */
  readonly isSolution?: boolean;
  readonly answer: Json;
  /** Its snapshot. */
  readonly state: Uint8Array;
}

/** A reference solution that cannot be repeated. */
export interface UnreachedSolution extends Pick<PassingState, 'task' | 'from'> {
  readonly why: string;
}

export interface MeasuredStrength {
  readonly findings: readonly Finding[];
  readonly strength: readonly VerifierStrength[];
}

/** Measures the verifiers of tasks of which a passing state is known. */
export async function measureStrength(
  source: LintSource,
  scenario: StartedScenario,
  passing: readonly (PassingState | UnreachedSolution)[],
  signal: AbortSignal,
): Promise<MeasuredStrength> {
  const forks = process.platform !== 'win32';
  const request = async (shared: Started | undefined, op: string, fields: object): Promise<unknown> => {
    const own = { ...fields, seconds: VERIFIER_SECONDS, memory_mb: scenario.memoryMb, clock: scenario.clock };
    const send = async ({ process: started, folder, template }: Started): Promise<unknown> => {
      const session = randomUUID();
      const at = { session, folder: path.join(folder, session), template };
      return await ask(started, { op, fields: { ...own, ...at }, ms: VERIFIER_MS }, signal);
    };
    return await (shared === undefined ? withTemplate(scenario, false, send) : send(shared));
  };
  const measure = async (shared?: Started): Promise<MeasuredStrength> => {
    const all = new Strengths(source, (op, fields) => request(shared, op, fields));
    for (const each of passing)
      if ('why' in each) all.fails(each, each.why);
      else await all.measure(each);
    return all;
  };
  return await (forks ? withTemplate(scenario, true, measure) : measure());
}

interface Started {
  readonly process: RunnerProcess;
  readonly folder: string;
  readonly template: string;
}

function withTemplate<T>(scenario: StartedScenario, forks: boolean, run: (started: Started) => Promise<T>): Promise<T> {
  return withProcess(scenario, forks, async (started, folder) => {
    const template = path.join(folder, 'template');
    await writeFile(template, scenario.template);
    return await run({ process: started, folder, template });
  });
}

class Strengths implements MeasuredStrength {
  readonly findings: Finding[] = [];
  readonly strength: VerifierStrength[] = [];
  readonly #source: LintSource;
  readonly #request: (op: string, fields: object) => Promise<unknown>;

  constructor(source: LintSource, request: (op: string, fields: object) => Promise<unknown>) {
    this.#source = source;
    this.#request = request;
  }

  async measure(passing: PassingState): Promise<void> {
    const verifiers = this.#source.verifiers.filter(({ task }) => task === passing.task);
    // Of further states of a task, only a solution is judged: the verifier may reject this one.
    const isMeasured = ({ task, mode }: PublishedVerifier): boolean =>
      this.strength.some((one) => one.task === task && one.verifier === mode);
    if (verifiers.every(isMeasured)) {
      if (passing.isSolution === true) for (const verifier of verifiers) await this.#accepts(verifier, passing);
      return;
    }
    const made = await answered(this.#request('mutants', { state: Buffer.from(passing.state).toString('base64') }));
    if (made === undefined) return; // the database is too large to compare
    const { mutants } = stateMutants.parse(made);
    for (const verifier of verifiers)
      if (!isMeasured(verifier)) await this.#measure(verifier, passing, mutants);
      else if (passing.isSolution === true) await this.#accepts(verifier, passing);
  }

  /** Notes that a reference solution cannot be repeated. `why` completes “it cannot be repeated: …”. */
  fails({ task, from }: Pick<PassingState, 'task' | 'from'>, why: string): void {
    const verifier = this.#source.verifiers.find((each) => each.task === task) ?? { task, mode: 'code' };
    this.#report(verifier, 'solution_rejected', {
      message: `the reference solution ${from} of task ${task} cannot be repeated: ${why}`,
      hint: 'Drive the task again, or correct what has changed in the scenario.',
    });
  }

  /** Returns what the verifier returns for a passing state; undefined if it fails, or rejects it. */
  async #accepts(
    verifier: PublishedVerifier,
    { from, answer, state, isSolution = false }: PassingState,
  ): Promise<Json | undefined> {
    const passed = await this.#judged(verifier, answer, Buffer.from(state).toString('base64'));
    if (passed === undefined) return undefined; // it fails, which is a finding of its own
    if (verifier.mode !== 'code' || saidBy(passed) === COMPLETE) return passed;
    const what = isSolution ? `the reference solution ${from}` : `the final state of ${from}, which passed`;
    this.#report(verifier, 'solution_rejected', {
      message: `${nameOf(verifier)} does not say complete for ${what}`,
      hint: isSolution
        ? 'Correct the verifier, or drive the task again.'
        : 'Open the rollout: correct the verifier, or what scored it.',
    });
    return undefined;
  }

  async #measure(
    verifier: PublishedVerifier,
    passing: PassingState,
    mutants: readonly { readonly about: string; readonly state: string }[],
  ): Promise<void> {
    const { mode } = verifier;
    const { task, from, answer } = passing;
    const named = nameOf(verifier);
    const passed = await this.#accepts(verifier, passing);
    if (passed === undefined || mutants.length === 0) return;
    const accepted: string[] = [];
    for (const mutant of mutants) {
      const result = await this.#judged(verifier, answer, mutant.state);
      // A judge cannot tell states apart of which it sees the same evidence.
      const isAccepted = mode === 'code' ? saidBy(result ?? null) === COMPLETE : isSameJson(result ?? null, passed);
      if (isAccepted) accepted.push(mutant.about);
    }
    const measured: VerifierStrength = {
      ...{ task, verifier: mode, from, accepted },
      ...{ mutants: mutants.length, rejected: mutants.length - accepted.length },
    };
    this.strength.push(measured);
    if (!isWeak(measured)) return;
    const more = accepted.length > NAMED ? `, and ${accepted.length - NAMED} more` : '';
    const which = `${accepted.slice(0, NAMED).join(', ')}${more}`;
    this.#report(verifier, 'weak_verifier', {
      message:
        mode === 'code'
          ? `${named} accepts ${accepted.length} of ${mutants.length} final states that are wrong: ${which}`
          : `${named} returns the same evidence for ${accepted.length} of ${mutants.length} wrong states: ${which}`,
      hint: 'Compare every row that the task changes, and that the others are as they were.',
    });
  }

  /** Returns what a verifier returned; undefined if it failed. */
  async #judged(
    { mode, python, function: name }: PublishedVerifier,
    answer: Json,
    state: string,
  ): Promise<Json | undefined> {
    const result = await answered(this.#request('verify', { mode, python, function: name, answer, state }));
    return result === undefined ? undefined : verified.parse(result).result;
  }

  #report(
    verifier: Pick<PublishedVerifier, 'task' | 'mode'>,
    kind: Finding['kind'],
    { message, hint }: { readonly message: string; readonly hint: string },
  ): void {
    const { task } = verifier;
    this.findings.push({
      ...{ kind, severity: 'warning', message, hint, task },
      ...this.#source.verifierPlace(verifier, undefined),
    });
  }
}

function nameOf({ mode, task }: Pick<PublishedVerifier, 'mode' | 'task'>): string {
  return `the ${mode === 'sql' ? 'SQL' : 'code'} verifier of task ${task}`;
}

/** Returns an answer of the runner; undefined if what it ran failed, or took too long. */
async function answered(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof RunnerError) return undefined;
    if (error instanceof RunnerLost && StudioError.is(error.cause)) throw error.cause;
    throw error;
  }
}
