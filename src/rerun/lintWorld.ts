/** Lints scenarios of published worlds in full: they are started, and their verifiers run. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { AgentWorldFolder } from '../client/published/agentWorldFolder.ts';
import { AwmFolder } from '../client/published/awmFolder.ts';
import { type LintOptions, lintScenarios, type NextPart } from '../client/published/lint.ts';
import type { PassingRollout } from '../client/published/passing.ts';
import { ScenarioReader } from '../client/published/scenarioFiles.ts';
import type { ReferenceSolution } from '../client/published/solutions.ts';
import type { PublishedWorlds } from '../client/published/worlds.ts';
import { errorText, StudioError } from '../common/errors.ts';
import type { Json } from '../common/json.ts';
import type { Finding, ScenarioHealth } from '../common/worldHealth.ts';
import type { LoadedCodeWorld } from '../config/load/world.ts';
import { TEMPLATE_TIME } from '../config/submission/world.ts';
import { DEFAULT_SANDBOX } from '../config/submission.ts';
import type { SubmissionBlob } from '../config/submit/blobs.ts';
import type { StartedScenario } from '../worlds/lint/process.ts';
import { replaySolution } from '../worlds/lint/replay.ts';
import { lintStarted } from '../worlds/lint/startedPart.ts';
import { sortFindings } from '../worlds/lint/staticPart.ts';
import {
  type MeasuredStrength,
  measureStrength,
  type PassingState,
  type UnreachedSolution,
} from '../worlds/lint/strengthPart.ts';
import { withTemporaryEnvironment } from './temporaryEnvironment.ts';

/** As in world files. */
const MEMORY_MB = 512;

export interface FullLintOptions extends Omit<LintOptions, 'next'> {
  /** The world file, if one names the scenarios. */
  readonly world?: LoadedCodeWorld | undefined;
  /** Folder with built initial states. */
  readonly templates: string;
  /** Rollouts that passed, by which the verifiers are measured. */
  readonly passing?: PassingStates | undefined;
  /** Reference solutions, by scenario. */
  readonly solutions?: ReadonlyMap<string, readonly ReferenceSolution[]> | undefined;
}

export interface PassingStates {
  /** By scenario, the newest first. */
  readonly rollouts: ReadonlyMap<string, readonly PassingRollout[]>;
  /** Returns how a rollout ended; undefined if that was not kept. */
  readonly finalState: (
    rollout: string,
    signal: AbortSignal,
  ) => Promise<{ readonly answer: Json; readonly state: Uint8Array } | undefined>;
}

/** Yields the health of scenarios in their order. Runs their code, in the sandbox of this machine. */
export async function lintFully(
  worlds: PublishedWorlds,
  scenarios: readonly string[],
  options: FullLintOptions,
  report: (health: ScenarioHealth) => void,
): Promise<void> {
  const { world, templates, passing, solutions, signal } = options;
  if (!(worlds instanceof AwmFolder || worlds instanceof AgentWorldFolder))
    throw new StudioError('unsupported', `Worlds in the format of ${worlds.format} cannot be linted.`);
  const clock = world?.file.clock;
  const start = typeof clock === 'object' ? clock.start : TEMPLATE_TIME;
  const reader = await ScenarioReader.open(worlds, start, templates, signal);
  const noBlob = (sha: string): Promise<never> => Promise.reject(new StudioError('not_found', `no blob ${sha}`));
  try {
    await withTemporaryEnvironment(noBlob, async (environment, work) => {
      const { pools } = environment(work);
      const python = world?.file.python;
      let last: Promise<unknown> = Promise.resolve(); // initial states are built one after another
      const run: NextPart = async (source, { analysis, health }, stop) => {
        try {
          const reading = last.then(() => reader.read(source.scenario));
          last = reading.catch(() => undefined);
          const files = await reading;
          const scenario: StartedScenario = {
            format: worlds instanceof AwmFolder ? 'awm' : 'agent-world',
            code: await bytesOf(files.code),
            template: await bytesOf(files.template),
            clock: { start_ms: Date.parse(start), step_ms: 1000 },
            memoryMb: world?.file.session.memory_mb ?? MEMORY_MB,
            python: world === undefined || python === undefined ? undefined : interpreter(world.path, python),
            environment: { pools, sandbox: DEFAULT_SANDBOX },
          };
          const checked = merged(health, await lintStarted(source, analysis, scenario, stop));
          if (!checked.ran.includes('verifier')) return checked;
          const states = [
            ...(await solved(scenario, solutions?.get(source.scenario) ?? [], stop)),
            ...(passing === undefined ? [] : await statesOf(passing, source.scenario, files.template.sha, stop)),
          ];
          return states.length === 0
            ? checked
            : withStrength(checked, await measureStrength(source, scenario, states, stop));
        } catch (error) {
          if (stop.aborted || StudioError.is(error, 'cancelled')) throw error;
          return { ...health, stopped: `It was not started. ${errorText(error)}` };
        }
      };
      const key = (scenario: string): string => {
        const rollouts = passing?.rollouts.get(scenario)?.map(({ rollout }) => rollout) ?? [];
        const kept = solutions?.get(scenario)?.map(({ file, hash }) => [file, hash]) ?? [];
        const { python = null, session = null } = world?.file ?? {};
        return JSON.stringify(['started', python, session, start, rollouts, kept]);
      };
      for await (const health of lintScenarios(worlds, scenarios, { ...options, next: { key, run } })) report(health);
    });
  } finally {
    reader.close();
  }
}

function merged(health: ScenarioHealth, started: Awaited<ReturnType<typeof lintStarted>>): ScenarioHealth {
  const certain = new Set(started.findings.filter(({ kind }) => kind === 'unreachable').map(({ task }) => task));
  const isSaidBetter = ({ kind, task }: Finding): boolean => kind === 'unreachable' && certain.has(task);
  return {
    ...health,
    ran: ['static', 'started', ...(started.judged ? (['verifier'] as const) : [])],
    findings: sortFindings([...health.findings.filter((each) => !isSaidBetter(each)), ...started.findings]),
    ...(health.pure === undefined ? {} : { pure: health.pure.filter((tool) => !started.wrote.includes(tool)) }),
  };
}

function withStrength(health: ScenarioHealth, { findings, strength }: MeasuredStrength): ScenarioHealth {
  return {
    ...health,
    ran: [...health.ran, 'strength'],
    findings: sortFindings([...health.findings, ...findings]),
    strength: [...strength],
  };
}

/** Returns a final state of each task that passed from this initial state. */
async function statesOf(
  { rollouts, finalState }: PassingStates,
  scenario: string,
  template: string,
  signal: AbortSignal,
): Promise<PassingState[]> {
  const found = new Map<number, PassingState>();
  for (const { rollout, task, template: from } of rollouts.get(scenario) ?? []) {
    if (from !== template || found.has(task)) continue;
    const ended = await finalState(rollout, signal);
    if (ended !== undefined) found.set(task, { task, from: rollout, ...ended });
  }
  return [...found.values()].sort((a, b) => a.task - b.task);
}

/** Reaches the final states of reference solutions. */
async function solved(
  scenario: StartedScenario,
  solutions: readonly ReferenceSolution[],
  signal: AbortSignal,
): Promise<(PassingState | UnreachedSolution)[]> {
  const found: (PassingState | UnreachedSolution)[] = [];
  for (const { file, task, answer, ...solution } of solutions) {
    const reached = await replaySolution(scenario, solution, signal);
    found.push({ task, from: file, answer, isSolution: true, ...reached });
  }
  return found;
}

/** A path is relative to the world file; a name is looked up where programs are. */
function interpreter(file: string, written: string): string {
  return /[\\/]/.test(written) ? path.resolve(path.dirname(file), written) : written;
}

async function bytesOf(blob: SubmissionBlob): Promise<Uint8Array> {
  return 'bytes' in blob ? blob.bytes : await readFile(blob.path);
}
