/** Judges the final state of a code world with the functions that were published with its scenario. */
import type { Json } from '../../common/json.ts';
import { isJsonObject } from '../../common/json.ts';
import { type ScenarioVerifiers, type SubmittedCodeWorld, scenarioVerifiers } from '../../config/submission/world.ts';
import type { Verdict } from '../../rollout/ports.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import type { Check } from '../../trace/schema.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { clockOf } from './clock.ts';
import type { ScenarioSource } from './scenarioRunner.ts';
import { type VerifierRun, VerifierRunner } from './verifierRunner.ts';

export interface FinalState {
  readonly source: ScenarioSource;
  readonly task: TaskRecord;
  readonly answer: Json;
  /** Its snapshot. */
  readonly state: Uint8Array;
  readonly environment: ToolEnvironment;
  readonly signal: AbortSignal;
}

/** What a rollout came to, as Agent World Model tells it apart. */
export type Outcome = keyof SubmittedCodeWorld['rewards'];

const CODE = 'code verifier';
const COMPLETE = 'complete';

/** Returns the verdict on a final state. Throws ClassedError, or StudioError for what this machine lacks. */
export async function verifyFinalState(final: FinalState): Promise<Verdict> {
  const { source, environment, signal } = final;
  const { rewards, verifier } = source.world;
  const found = await verifiersOf(final);
  if (found === undefined) return unscored(`The scenario ${source.name} has no verifier for this task.`);
  const run = async (mode: 'code' | 'sql'): Promise<VerifierRun | undefined> => {
    const published = found[mode];
    if (published === undefined) return undefined;
    const { template } = source.scenario;
    return await environment.pools.only(VerifierRunner).run(
      {
        ...{ mode, template, state: final.state, answer: final.answer, clock: clockOf(source.world) },
        ...{ python: published.python, function: published.function, interpreter: source.world.python },
      },
      environment,
      signal,
    );
  };
  const code = verifier === 'sql' ? undefined : await run('code');
  if (code !== undefined) return codeVerdict(code, rewards);
  const evidence = await run('sql');
  if (evidence === undefined) return unscored(`The scenario ${source.name} has no ${verifier} verifier for this task.`);
  if (evidence.error !== undefined) return environmentVerdict(evidence.error, rewards);
  return unscored(`A judge must read the evidence: ${JSON.stringify(evidence.result)}`);
}

/** Returns the verdict of a verifier that judges by itself: `{result: "complete"}`, or anything else. */
export function codeVerdict({ result, error }: VerifierRun, rewards: SubmittedCodeWorld['rewards']): Verdict {
  if (error !== undefined) return environmentVerdict(error, rewards);
  const said = isJsonObject(result) ? result['result'] : result;
  if (typeof said !== 'string')
    return environmentVerdict(`it returned ${JSON.stringify(result)}, without a text named result`, rewards);
  const passed = said === COMPLETE;
  const details = isJsonObject(result) ? Object.entries(result).filter(([name]) => name !== 'result') : [];
  const checks: Check[] = [
    {
      name: CODE,
      passed,
      ...(passed ? {} : { cause: `${CODE}: not complete`, expected: COMPLETE, actual: said }),
    },
    ...details.flatMap(([name, value]): Check[] =>
      typeof value === 'boolean' ? [{ name, passed: value, ...(value ? {} : { cause: `${CODE}: ${name}` }) }] : [],
    ),
  ];
  return verdictOf(passed ? 'complete' : 'agent_error', rewards, checks, result);
}

/** Returns the verdict of an outcome, with each check as a part of the score. */
export function verdictOf(
  outcome: Outcome,
  rewards: SubmittedCodeWorld['rewards'],
  checks: readonly Check[],
  evidence?: Json,
): Verdict {
  const value = rewards[outcome];
  const returned = evidence === undefined ? '' : ` The verifier returned ${JSON.stringify(evidence)}.`;
  return {
    value,
    passed: outcome === 'environment_error' || value === null ? null : outcome === 'complete',
    parts: Object.fromEntries(checks.map(({ name, passed }) => [name, passed ? 1 : 0])),
    checks,
    explanation: `Outcome: ${outcome}.${returned}`,
  };
}

function environmentVerdict(why: string, rewards: SubmittedCodeWorld['rewards']): Verdict {
  const { explanation, ...verdict } = verdictOf('environment_error', rewards, []);
  return { ...verdict, explanation: `${explanation ?? ''} The verifier could not judge: ${why}.` };
}

function unscored(explanation: string): Verdict {
  return { value: null, passed: null, explanation };
}

async function verifiersOf({
  source,
  task,
  environment,
  signal,
}: FinalState): Promise<ScenarioVerifiers[string] | undefined> {
  const bytes = await environment.readBlob(source.scenario.verifiers, signal);
  const all = scenarioVerifiers.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  const index = task.meta['task_idx'];
  return typeof index === 'number' || typeof index === 'string' ? all[index] : undefined;
}
