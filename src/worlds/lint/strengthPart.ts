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
  /** ID of the rollout. */
  readonly from: string;
  readonly answer: Json;
  /** Its snapshot. */
  readonly state: Uint8Array;
}

export interface MeasuredStrength {
  readonly findings: readonly Finding[];
  readonly strength: readonly VerifierStrength[];
}

/** Measures the verifiers of tasks of which a passing state is known. */
export async function measureStrength(
  source: LintSource,
  scenario: StartedScenario,
  passing: readonly PassingState[],
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
    for (const state of passing) await all.measure(state);
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
    if (verifiers.length === 0) return;
    const state = Buffer.from(passing.state).toString('base64');
    const made = await answered(this.#request('mutants', { state }));
    if (made === undefined) return; // the database is too large to compare
    const { mutants } = stateMutants.parse(made);
    for (const verifier of verifiers) await this.#measure(verifier, passing, state, mutants);
  }

  async #measure(
    verifier: PublishedVerifier,
    { task, from, answer }: PassingState,
    state: string,
    mutants: readonly { readonly about: string; readonly state: string }[],
  ): Promise<void> {
    const { mode } = verifier;
    const named = `the ${mode === 'sql' ? 'SQL' : 'code'} verifier of task ${task}`;
    const passed = await this.#judged(verifier, answer, state);
    if (passed === undefined) return; // it fails, which is a finding of its own
    if (mode === 'code' && saidBy(passed) !== COMPLETE) {
      this.#report(verifier, 'solution_rejected', {
        message: `${named} does not say complete for the final state of ${from}, which passed`,
        hint: 'Open the rollout: correct the verifier, or what scored it.',
      });
      return;
    }
    if (mutants.length === 0) return;
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
    verifier: PublishedVerifier,
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
