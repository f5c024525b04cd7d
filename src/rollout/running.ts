import { StudioError } from '../common/errors.ts';
import { sha256Hex } from '../common/hash.ts';
import { rulesOf } from '../config/submission/rule.ts';
import { agentAt, codeSha, configSha, type Submission, sideModelsOf } from '../config/submission.ts';
import { type CallTroubles, CallTroublesReader } from '../trace/callTroubles.ts';
import { ClassedError } from '../trace/classedError.ts';
import { WorldChecks } from '../trace/control/worldChecks.ts';
import { Fingerprint } from '../trace/fingerprint.ts';
import { TrajectoryModel } from '../trace/model.ts';
import type { CallScore } from '../trace/prediction/fidelity.ts';
import { PREDICT } from '../trace/prediction/lookahead.ts';
import { PredictionsOfRollout } from '../trace/prediction/statistics.ts';
import { InjectedCalls } from '../trace/recovery.ts';
import { Repeats } from '../trace/repeats.ts';
import type { TraceEvent } from '../trace/schema.ts';
import { RatedCalls } from '../trace/toolCalls/rated.ts';
import { Act } from './act/act.ts';
import { Flights } from './act/flights.ts';
import { History } from './act/history.ts';
import { InsideCalls } from './act/insideCalls.ts';
import { type MatchPolicy, Prefix, type PrefixRequest } from './act/prefix.ts';
import { isLost, type RecordedAction } from './act/recorded.ts';
import { closeSpans, deadlyCalls, openIrreversible } from './act/takeover.ts';
import { faultOf } from './faults.ts';
import { forkEditDrafts } from './gates/forkEdits.ts';
import { Gates } from './gates/gates.ts';
import { HeadEdits } from './gates/headEdits.ts';
import { Holds } from './gates/holds.ts';
import type { RolloutJob, RolloutPorts } from './job.ts';
import { type Draft, Log } from './log/log.ts';
import type { Sha256 } from './log/messages.ts';
import { TotalsCounter } from './log/totals.ts';
import { rolloutSeed } from './loop/agentFactory.ts';
import { Stopwatch } from './loop/limits.ts';
import { sidePath } from './loop/sideModel.ts';
import type { Stop } from './stop.ts';
import { systemTime, type Time } from './time.ts';

/** A rollout whose record was read and whose first events are written, with everything that its effects need. */
export interface RunningRollout {
  readonly log: Log;
  readonly history: History;
  readonly inside: InsideCalls;
  readonly holds: Holds;
  readonly gates: Gates;
  readonly flights: Flights;
  readonly act: Act;
  readonly watch: Stopwatch;
  readonly totals: TotalsCounter;
  readonly fingerprint: Fingerprint;
  /** seqs of the starts of tool calls, by their IDs. */
  readonly callSpans: ReadonlyMap<string, number>;
  /** What the record says about its calls, with those of an ancestor. */
  readonly calls: { readonly troubles: CallTroubles };
  /** The scores of calls that a world predicted, in order, without an ancestor's. */
  readonly predictions: readonly CallScore[];
  /** What the rules of the world did in this rollout; undefined without rules. */
  readonly injected: InjectedCalls | undefined;
  /** What its calls say about the world. */
  readonly checks: WorldChecks;
  /** How well a world predicted the calls of this rollout. */
  readonly predicted: PredictionsOfRollout;
  /** How the calls of this rollout ended. */
  readonly rated: RatedCalls;
  /** No new effect starts after it: limits, and whatever ends the try. */
  readonly stop: Stop;
  readonly sha256: Sha256;
  readonly time: Time;
  /** The first seq that does not belong to an ancestor. */
  readonly ownFrom: number;
  /** The rollout that is scored again; undefined if this one runs an agent. */
  readonly recording: TrajectoryModel | undefined;
  /** Why it cannot start. */
  readonly refusal: ClassedError | undefined;
  /** Whether a person changed it while it ran. */
  touched: boolean;
  /** From now on, only cancellation or a loss ends effects and holds: a limit of the agent does not end scoring. */
  beginScoring(): void;
  /** Called when an agent of a fork makes a request that its record does not contain. */
  onDiverged: () => void;
}

/** Reads the record, takes over, and writes the first events of a holder. Rejects if the record cannot be read. */
export async function begin(job: RolloutJob, ports: RolloutPorts, life: Stop): Promise<RunningRollout> {
  const sha256 = ports.sha256 ?? sha256Hex;
  const time = ports.time ?? systemTime;
  const log = new Log(ports.recorder, ports.clock, sha256, ports.redactor);
  const totals = new TotalsCounter((agent, side, name) => modelOf(job.submission, agent, side, name).price);
  const fingerprint = new Fingerprint();
  const repeats = new Repeats();
  const callSpans = new Map<string, number>();
  const calls = new CallTroublesReader();
  const injected = rulesOf(job.submission).length === 0 ? undefined : new InjectedCalls();
  const checks = new WorldChecks();
  const predictions: CallScore[] = [];
  const predicted = new PredictionsOfRollout();
  const rated = new RatedCalls(job.submission.world?.worlds?.['lookahead'] === undefined ? undefined : PREDICT);
  const ownFrom = ((job.fork ?? job.rescores)?.seq ?? 0) + 1;
  const recording = job.rescores === undefined ? undefined : new TrajectoryModel();
  const outcome = outcomesOnly(fingerprint);
  const note = (event: TraceEvent, own: boolean): void => {
    if (own) {
      totals.add(event);
      injected?.add(event);
      predicted.add(event);
      rated.add(event);
    } else recording?.push([event]);
    if (event.kind === 'tool.start') {
      repeats.add(event);
      callSpans.set(event.data.call, event.seq);
    }
    if (own && event.kind === 'score' && event.data.prediction !== undefined) {
      const { value, parts } = event.data;
      predictions.push({ value, ...(parts === undefined ? {} : { parts }) });
    }
    calls.add(event);
    checks.add(event);
    outcome(event);
  };
  const history = await History.read(
    job.prefix,
    log,
    ownFrom,
    sha256,
    (ref) => ports.recorder.readBlob(ref.$blob, life.signal),
    note,
  );
  if (log.last !== job.last) {
    throw new StudioError(
      'internal',
      `The record of rollout ${job.rollout} should end at event ${job.last}, but ends at ${log.last}.`,
    );
  }
  log.observe((event) => note(event, true));
  const inside = new InsideCalls({ history, log, edits: history.edits, sha256, ownFrom });
  const refusal = writeBeginning(job, log, history, ownFrom);

  const watch = new Stopwatch(time, history);
  const { stop } = life.child();
  const phase = { stop };
  const holds = new Holds({
    log,
    slot: ports.slot,
    watch,
    get life() {
      return phase.stop;
    },
    permits: ports.holdPermits,
    time,
    limitMs: job.submission.hold_limit_seconds * 1000,
  });
  const hold = history.openHold;
  // A hold by a pause of the batch ends with the pause: nobody would release it.
  const pauseEnded = hold?.ofBatch === true && !job.paused;
  const restored = hold !== undefined && !pauseEnded && (job.held || hold.carried) ? hold : undefined;
  const running: Pick<RunningRollout, 'touched' | 'beginScoring' | 'onDiverged'> = {
    touched: history.touched,
    beginScoring: () => {
      phase.stop = life;
    },
    onDiverged: () => undefined,
  };
  const gates = new Gates({
    log,
    holds,
    permits: ports.holdPermits,
    restored,
    head: new HeadEdits(log, history.edits, (agent) => history.inbox(agent)),
    surroundings: {
      task: job.task,
      attempt: job.attempt,
      part: job.part,
      repeats: (span) => repeats.of(span),
      usage: () => totals.totals(0),
    },
    claim: (breakpoint) => ports.claim(breakpoint),
    touch: () => {
      running.touched = true;
    },
  });
  if (job.held && restored === undefined && !pauseEnded) gates.setPaused(true);
  // What is scored again asks its own questions: an earlier judge's reply is no answer to them.
  const actions = recording === undefined ? history.actions : history.actions.filter(({ seq }) => seq >= ownFrom);
  const prefix = new Prefix(actions, (expected) => policyFor(expected, ownFrom));
  const logDivergence = logOnce(log);
  const flights = new Flights(time);
  const act = new Act({
    log,
    recorder: ports.recorder,
    prefix,
    edits: history.edits,
    gates,
    flights,
    get stop() {
      return phase.stop;
    },
    diverged: (request, lost) => {
      logDivergence(request);
      if (lost) running.onDiverged();
    },
  });
  return Object.assign(running, {
    log,
    history,
    inside,
    holds,
    gates,
    flights,
    act,
    watch,
    totals,
    fingerprint,
    callSpans,
    calls,
    predictions,
    injected,
    checks,
    predicted,
    rated,
    stop,
    sha256,
    time,
    ownFrom,
    recording,
    refusal,
  });
}

/**
 * Returns what applies if a request differs from the record: an ancestor's answers are used in order, but its judge
 * said nothing about another answer of the agent.
 */
function policyFor({ seq, start }: RecordedAction, ownFrom: number): MatchPolicy {
  if (seq >= ownFrom) return 'strict';
  return 'side' in start && start.side !== undefined && start.side !== 'user' ? 'none' : 'in_order';
}

/**
 * Returns the model of an agent of a submission, by instance path, or of one of its side models. `name`: the model's
 * own, if several side models have the same.
 */
export function modelOf(
  submission: Submission,
  agent: string | undefined,
  side: string | undefined,
  name?: string,
): Submission['agent']['model'] {
  const { user } = submission.world ?? {};
  const named = side === undefined ? [] : sideModelsOf(submission).filter((one) => one.side === side);
  const asked = named.find(({ model }) => model.name === name) ?? named[0];
  if (asked !== undefined) return asked.model;
  // In recordings from before side models, the calls of a simulated user have only its path.
  if (user !== undefined && agent === sidePath('user', submission.agent.name)) return user.model;
  return (agentAt(submission, agent ?? '') ?? submission.agent).model;
}

/**
 * Writes, in one append, the start and the lease, the edits of a fork, and the ends of what a lost holder (or the cut
 * of a fork) left open. Returns why the rollout cannot continue, if it cannot.
 */
function writeBeginning(job: RolloutJob, log: Log, history: History, ownFrom: number): ClassedError | undefined {
  const { submission, fork, rescores } = job;
  const drafts: Draft[] = [];
  if (job.how === 'fresh') {
    const { config, code } = job.shas ?? shasOf(submission);
    drafts.push({
      kind: 'rollout.start',
      data: {
        batch: job.batch,
        task: job.task.id,
        attempt: job.attempt,
        try: job.try,
        seed: rolloutSeed(job),
        config,
        code,
        model: submission.agent.model.name,
        ...(job.part === undefined ? {} : { part: job.part }),
        ...(fork === undefined ? {} : { fork: { rollout: fork.rollout, seq: fork.seq } }),
        ...(rescores === undefined ? {} : { rescores: { rollout: rescores.rollout, seq: rescores.seq } }),
      },
    });
  }
  drafts.push({
    kind: 'rollout.lease',
    data: {
      epoch: job.epoch,
      worker: job.worker,
      how: job.how,
      ...(history.snapshot === undefined ? {} : { snapshot: history.snapshot.sha }),
    },
  });
  const twice = openIrreversible(log, history, ownFrom).filter((call) => !call.waiting);
  const deadly = history.handedOver ? [] : deadlyCalls(log, history, ownFrom);
  let refusal: ClassedError | undefined;
  if (job.how === 'resumed') {
    const message = history.handedOver ? 'Its worker handed the rollout over.' : 'Its worker was lost.';
    drafts.push(...closeSpans(log, { class: 'infrastructure', message }));
    if (twice.length > 0) {
      const names = twice.map((call) => call.name).join(', ');
      refusal = new ClassedError(
        'infrastructure',
        `Its worker ${history.handedOver ? 'had to stop' : 'was lost'} during a call to ${names}, which is ` +
          'irreversible and may have taken effect. The attempt is retried from the start.',
      );
    } else if (deadly.length > 0) {
      refusal = new ClassedError(
        'infrastructure',
        `Every worker that called ${deadly.join(', ')} was lost during the call, so the tool probably crashes ` +
          'workers. See the worker log.',
      );
    }
  } else if (fork !== undefined) {
    try {
      drafts.push(...forkEditDrafts(job.edits, log, history, log.last + 1 + drafts.length));
    } catch (error) {
      refusal = faultOf(error, 'invalid_arguments', 'infrastructure');
    }
    drafts.push(...closeSpans(log, 'cut'));
  }
  log.append(drafts);
  return refusal;
}

/**
 * Passes a fingerprint only what counts: a sampled message once its call has ended (a fork may be cut between the two),
 * and no call that was lost with its worker, because it is repeated.
 */
function outcomesOnly(fingerprint: Fingerprint): (event: TraceEvent) => void {
  let sampled: TraceEvent | undefined;
  return (event) => {
    if (event.kind === 'message' && event.data.origin === 'sampled') {
      sampled = event;
      return;
    }
    if (event.kind === 'model.end' && sampled?.kind === 'message' && event.data.m === sampled.data.m)
      fingerprint.add(sampled);
    if (event.kind !== 'tool.end' || !isLost(event.data)) fingerprint.add(event);
  };
}

const shas = new WeakMap<Submission, { readonly config: string; readonly code: string }>();

/** Many rollouts share one submission, and its hashes cost more than a step. */
function shasOf(submission: Submission): { readonly config: string; readonly code: string } {
  let hashes = shas.get(submission);
  if (hashes === undefined)
    shas.set(submission, (hashes = { config: configSha(submission), code: codeSha(submission) }));
  return hashes;
}

/** Logs once that the requests of a fork differ from its prefix. */
function logOnce(log: Log): (request: PrefixRequest) => void {
  let logged = false;
  return ({ agent, kind, name }) => {
    if (logged) return;
    logged = true;
    const what = kind === 'model' ? 'its model' : `${kind} ${name}`;
    const text =
      `The requests of the fork differ from the record (first: ${agent} requested ${what}), so the recorded answers ` +
      'before the cut are used in order.';
    log.append([{ kind: 'log', data: { stream: 'err', text } }]);
  };
}
