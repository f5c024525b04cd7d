/** Judges the final state of a code world with the functions that were published with its scenario. */
import type { Json } from '../../common/json.ts';
import { isJsonObject } from '../../common/json.ts';
import { type ScenarioVerifiers, scenarioVerifiers } from '../../config/submission/world.ts';
import type { JudgingContext, Verdict } from '../../rollout/ports.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import type { CallTroubles } from '../../trace/callTroubles.ts';
import type { Check, WorldOutcome } from '../../trace/schema.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { clockOf } from './clock.ts';
import { JUDGE, judge, type ToJudge } from './judge.ts';
import { type Judged, outcomeSaid, verdictOf } from './outcome.ts';
import type { ScenarioSource } from './scenarioRunner.ts';
import { type VerifierFault, type VerifierRun, VerifierRunner } from './verifierRunner.ts';

export interface FinalState {
  readonly source: ScenarioSource;
  readonly task: TaskRecord;
  readonly answer: Json;
  readonly expected: Json | undefined;
  readonly troubles: CallTroubles;
  /** Its snapshot; undefined: nothing has changed since the start. */
  readonly state: Uint8Array | undefined;
  readonly environment: ToolEnvironment;
  readonly context: JudgingContext;
  /** Receives why a verifier could not judge; then the verdict has the outcome `environment_error`. */
  readonly onFault?: (mode: 'code' | 'sql', fault: VerifierFault) => void;
}

const CODE = 'code verifier';
/** What it found, in a few words. */
const WRONG: Readonly<Partial<Record<WorldOutcome, string>>> = {
  partial: 'partly complete',
  agent_error: 'not complete',
  environment_error: 'the environment failed',
};

/** Returns the verdict on a final state. Throws ClassedError, or StudioError for what this machine lacks. */
export async function verifyFinalState(final: FinalState): Promise<Verdict> {
  const { verifier } = final.source.world;
  const found = await verifiersOf(final);
  if (found?.rubric !== undefined) return await judgedVerdict(final, { rubric: found.rubric });
  const code = verifier === 'sql' ? undefined : found?.code;
  const sql = verifier === 'code' ? undefined : found?.sql;
  if (code === undefined && sql === undefined)
    return unscored(
      `The scenario ${final.source.name} has no ${verifier === 'both' ? '' : `${verifier} `}verifier for this task.`,
    );
  const own =
    code === undefined
      ? undefined
      : verdictOn(final, judgedByCode(await run(final, 'code', code), reported(final, 'code')));
  const judged = sql === undefined ? undefined : await evidenceVerdict(final, sql);
  if (own === undefined || judged === undefined) return own ?? judged ?? unscored('');
  return {
    ...own, // the reward is that of the function; the judge is shown next to it
    parts: { ...own.parts, ...judged.parts },
    // The check of a troubled call is in both.
    checks: [...new Map([...(own.checks ?? []), ...(judged.checks ?? [])].map((each) => [each.name, each])).values()],
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
  if (fault !== undefined) return verdictOn(final, reported(final, 'sql')(fault));
  return await judgedVerdict(final, { ...sql, evidence: result });
}

async function judgedVerdict(
  final: FinalState,
  criteria: Omit<ToJudge, 'task' | 'answer' | 'expected'>,
): Promise<Verdict> {
  const { source, task, answer, expected, context } = final;
  const judgement = await judge(source.world, { ...criteria, task: task.question, answer, expected }, context.ask);
  if (judgement === undefined)
    return unscored(`This verdict needs a judge: name a model \`${JUDGE}\` in \`models\` of the world file.`);
  const { outcome, confidence, explanation } = judgement;
  const passed = outcome === 'complete';
  const check: Check = { name: JUDGE, passed, ...(passed ? {} : { cause: `${JUDGE}: ${outcome}`, actual: outcome }) };
  const verdict = verdictOn(final, { outcome, checks: [check], because: `${JUDGE}: ${explanation}` });
  return {
    ...verdict,
    parts: { ...verdict.parts, ...(confidence === undefined ? {} : { 'confidence of the judge': confidence }) },
  };
}

/** Returns what a verifier says that judges by itself: `{result: "complete"}`, or another result. */
function judgedByCode({ result, fault }: VerifierRun, unjudged: (fault: VerifierFault) => Judged): Judged {
  if (fault !== undefined) return unjudged(fault);
  const said = isJsonObject(result) ? result['result'] : result;
  if (typeof said !== 'string') {
    const text = `it returned ${JSON.stringify(result)}, without a text named result`;
    return unjudged({ text, message: `The verifier${text.slice(2)}.` });
  }
  const outcome = outcomeSaid(said);
  const passed = outcome === 'complete';
  const details = isJsonObject(result) ? Object.entries(result).filter(([name]) => name !== 'result') : [];
  const checks: Check[] = [
    {
      name: CODE,
      passed,
      ...(passed ? {} : { cause: `${CODE}: ${WRONG[outcome] ?? outcome}`, expected: 'complete', actual: said }),
    },
    ...details.flatMap(([name, value]): Check[] =>
      typeof value === 'boolean' ? [{ name, passed: value, ...(value ? {} : { cause: `${CODE}: ${name}` }) }] : [],
    ),
  ];
  return { outcome, checks, evidence: result };
}

/** Returns what there is to say if a verifier fails, and reports it. */
function reported({ onFault }: FinalState, mode: 'code' | 'sql'): (fault: VerifierFault) => Judged {
  return (fault) => {
    onFault?.(mode, fault);
    return { outcome: 'environment_error', checks: [], because: `The verifier could not judge: ${fault.text}.` };
  };
}

function verdictOn({ source, troubles }: FinalState, judged: Judged): Verdict {
  return verdictOf(judged, source.world.rewards, troubles);
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
