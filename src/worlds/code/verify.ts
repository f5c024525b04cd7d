/** Judges the final state of a code world with the functions that were published with its scenario. */
import type { Json } from '../../common/json.ts';
import { isJsonObject } from '../../common/json.ts';
import { type ScenarioVerifiers, type SubmittedCodeWorld, scenarioVerifiers } from '../../config/submission/world.ts';
import type { JudgingContext, Verdict } from '../../rollout/ports.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import type { Check } from '../../trace/schema.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { clockOf } from './clock.ts';
import { JUDGE, type Judged, judge } from './judge.ts';
import type { ScenarioSource } from './scenarioRunner.ts';
import { type VerifierFault, type VerifierRun, VerifierRunner } from './verifierRunner.ts';

export interface FinalState {
  readonly source: ScenarioSource;
  readonly task: TaskRecord;
  readonly answer: Json;
  readonly expected: Json | undefined;
  /** Its snapshot. */
  readonly state: Uint8Array;
  readonly environment: ToolEnvironment;
  readonly context: JudgingContext;
  /** Receives why a verifier could not judge; then the verdict has the outcome `environment_error`. */
  readonly onFault?: (mode: 'code' | 'sql', fault: VerifierFault) => void;
}

/** What a rollout came to, as Agent World Model tells it apart. */
export type Outcome = keyof SubmittedCodeWorld['rewards'];

const CODE = 'code verifier';
const COMPLETE = 'complete';

/** Returns the verdict on a final state. Throws ClassedError, or StudioError for what this machine lacks. */
export async function verifyFinalState(final: FinalState): Promise<Verdict> {
  const { rewards, verifier } = final.source.world;
  const found = await verifiersOf(final);
  if (found?.rubric !== undefined) return await judgedVerdict(final, { rubric: found.rubric });
  const code = verifier === 'sql' ? undefined : found?.code;
  const sql = verifier === 'code' ? undefined : found?.sql;
  if (code === undefined && sql === undefined)
    return unscored(
      `The scenario ${final.source.name} has no ${verifier === 'both' ? '' : `${verifier} `}verifier for this task.`,
    );
  const own = code === undefined ? undefined : codeVerdict(await run(final, 'code', code), rewards, final);
  const judged = sql === undefined ? undefined : await evidenceVerdict(final, sql);
  if (own === undefined || judged === undefined) return own ?? judged ?? unscored('');
  return {
    ...own, // the reward is that of the function; the judge is shown next to it
    parts: { ...own.parts, ...judged.parts },
    checks: [...(own.checks ?? []), ...(judged.checks ?? [])],
    explanation: [own.explanation, judged.explanation].join(' '),
  };
}

type Verifiers = ScenarioVerifiers[string];

function run(
  { source, state, answer, environment, context }: FinalState,
  mode: 'code' | 'sql',
  { python, function: name }: NonNullable<Verifiers['code']>,
): Promise<VerifierRun> {
  const request = {
    ...{ mode, python, function: name, interpreter: source.world.python },
    ...{ template: source.scenario.template, state, answer, clock: clockOf(source.world) },
  };
  return environment.pools.only(VerifierRunner).run(request, environment, context.signal);
}

/** Collects evidence from the final state, and has it judged. */
async function evidenceVerdict(final: FinalState, sql: NonNullable<Verifiers['sql']>): Promise<Verdict> {
  const { result, fault } = await run(final, 'sql', sql);
  if (fault !== undefined) return faultVerdict('sql', fault, final.source.world.rewards, final);
  return await judgedVerdict(final, { ...sql, evidence: result });
}

async function judgedVerdict(
  { source, task, answer, expected, context }: FinalState,
  criteria: Omit<Judged, 'task' | 'answer' | 'expected'>,
): Promise<Verdict> {
  const { rewards } = source.world;
  const judgement = await judge(source.world, { ...criteria, task: task.question, answer, expected }, context.ask);
  if (judgement === undefined)
    return unscored(`This verdict needs a judge: name a model \`${JUDGE}\` in \`models\` of the world file.`);
  const { outcome, confidence, explanation } = judgement;
  const passed = outcome === 'complete';
  const check: Check = { name: JUDGE, passed, ...(passed ? {} : { cause: `${JUDGE}: ${outcome}`, actual: outcome }) };
  const verdict = verdictOf(outcome, rewards, [check]);
  return {
    ...verdict,
    parts: { ...verdict.parts, ...(confidence === undefined ? {} : { 'confidence of the judge': confidence }) },
    explanation: `${verdict.explanation ?? ''} ${JUDGE}: ${explanation}`,
  };
}

/** Returns the verdict of a verifier that judges by itself: `{result: "complete"}`, or anything else. */
export function codeVerdict(
  { result, fault }: VerifierRun,
  rewards: SubmittedCodeWorld['rewards'],
  reporting: Pick<FinalState, 'onFault'> = {},
): Verdict {
  if (fault !== undefined) return faultVerdict('code', fault, rewards, reporting);
  const said = isJsonObject(result) ? result['result'] : result;
  if (typeof said !== 'string') {
    const text = `it returned ${JSON.stringify(result)}, without a text named result`;
    return faultVerdict('code', { text, message: `The verifier${text.slice(2)}.` }, rewards, reporting);
  }
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

function faultVerdict(
  mode: 'code' | 'sql',
  fault: VerifierFault,
  rewards: SubmittedCodeWorld['rewards'],
  { onFault }: Pick<FinalState, 'onFault'>,
): Verdict {
  onFault?.(mode, fault);
  const { explanation, ...verdict } = verdictOf('environment_error', rewards, []);
  return { ...verdict, explanation: `${explanation ?? ''} The verifier could not judge: ${fault.text}.` };
}

function unscored(explanation: string): Verdict {
  return { value: null, passed: null, explanation };
}

async function verifiersOf({ source, task, environment, context }: FinalState): Promise<Verifiers | undefined> {
  const bytes = await environment.readBlob(source.scenario.verifiers, context.signal);
  const all = scenarioVerifiers.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  const index = task.meta['task_idx'];
  return typeof index === 'number' || typeof index === 'string' ? all[index] : undefined;
}
