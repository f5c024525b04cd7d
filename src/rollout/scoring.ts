import { StudioError } from '../common/errors.ts';
import { seedOf } from '../common/hash.ts';
import { shortageOf } from '../common/shortage.ts';
import type { CallTroubles } from '../trace/callTroubles.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { EventData } from '../trace/schema.ts';
import { asInDataset, type TaskRecord, withoutAnswer } from '../trace/task.ts';
import { PrefixDivergence } from './act/prefix.ts';
import type { RolloutEnding } from './ending.ts';
import { faultOf } from './faults.ts';
import type { RolloutPorts } from './job.ts';
import type { Draft } from './log/log.ts';
import type { AgentFactory } from './loop/agentFactory.ts';
import type { Stopwatch } from './loop/limits.ts';
import type { Message, ScoreInput, Scorer } from './ports.ts';
import type { Stop } from './stop.ts';
import type { RolloutWorld } from './world.ts';

/** What a rollout leaves to its scorer. */
export interface FinalState {
  world?: RolloutWorld;
  /** Returns the conversation that represents the rollout. */
  messages?: () => readonly Message[];
  /** Set once the rollout can be scored. */
  factory?: AgentFactory;
}

interface ScoringInput {
  readonly scorer: Scorer;
  /** Maximum duration, in seconds. */
  readonly limit: number;
  readonly task: ScoreInput['task'];
  readonly rolloutSeed: number;
  readonly state: Readonly<FinalState>;
  /** seqs of the starts of tool calls, by their IDs. */
  readonly callSpans: ReadonlyMap<string, number>;
  readonly troubles: CallTroubles;
  readonly predictions: ScoreInput['predictions'];
  /** Cancellation and loss of the lease. */
  readonly life: Stop;
  /** Its active time limits scoring. */
  readonly watch: Stopwatch;
}

/** What a scorer says about a rollout, and the same as events: those of single calls come first. */
interface Scores {
  readonly score: EventData['score'];
  readonly drafts: readonly Draft[];
}

/**
 * Scores the final state. If the scorer fails, or reaches its limit of time, the result has no score but its error; if
 * there is no state to score, it has the reason. Throws ClassedError `infrastructure` if it fails because of the
 * machine, and PrefixDivergence: then the attempt is lost.
 */
export async function scoreOf(ending: RolloutEnding, input: ScoringInput): Promise<Scores> {
  const { scorer, limit, task, rolloutSeed, state, life } = input;
  const { factory } = state;
  if (!ending.scorable || factory === undefined)
    return alone(
      unscored(
        scorer,
        ending.unscorable ?? ending.error ?? new ClassedError('world_error', 'There is no final state to score.'),
      ),
    );
  const seed = seedOf(rolloutSeed, 'score');
  const { stop, release } = life.child();
  const endLimit = input.watch.atActive(input.watch.activeMs + limit * 1000, () =>
    stop.stop(new ClassedError('timeout', `The scorer ${scorer.name} did not end within its limit of ${limit} s.`)),
  );
  // Its side calls belong to the last step.
  const questions = factory.sideModels.ofScorer({ stop, rolloutSeed: seed, step: () => factory.step });
  try {
    const {
      value,
      passed,
      outcome,
      parts,
      checks,
      explanation,
      calls = [],
    } = await stop.race(
      scorer.score({
        task,
        answer: ending.answer,
        messages: state.messages?.() ?? [],
        troubles: input.troubles,
        predictions: input.predictions,
        world: state.world?.judge,
        seed,
        signal: stop.signal,
        ask: (question) => questions.ask(question),
      }),
    );
    const { score, drafts } = alone({
      ...nameOf(scorer),
      value,
      passed,
      ...(outcome === undefined ? {} : { outcome }),
      ...(parts === undefined ? {} : { parts: { ...parts } }),
      ...(checks === undefined ? {} : { checks: [...checks] }),
      ...(explanation === undefined ? {} : { explanation }),
    });
    const ofCalls = calls.flatMap(({ call, ...verdict }): Draft[] => {
      const span = input.callSpans.get(call);
      return span === undefined ? [] : [{ kind: 'score', span, data: { ...nameOf(scorer), ...verdict } }];
    });
    return { score, drafts: [...ofCalls, ...drafts] };
  } catch (thrown) {
    if (thrown instanceof PrefixDivergence) throw thrown;
    // Whatever the interrupted call says about itself.
    if (stop.reason?.class === 'timeout') return alone(unscored(scorer, stop.reason));
    const fault = faultOf(thrown, 'tool_error', 'tool_error');
    if (isMachineFault(thrown))
      throw new ClassedError('infrastructure', `Scoring failed: ${fault.message}`, { cause: thrown });
    return alone(unscored(scorer, fault));
  } finally {
    endLimit();
    stop.stop(new ClassedError('cancelled', 'The scorer ended without waiting for it.'));
    await questions.settled();
    release();
  }
}

/** Returns the whole task. Rejects if that fails, unless the rollout was stopped or lost. */
export async function taskToScore(
  task: TaskRecord,
  { partForScoring }: Pick<RolloutPorts, 'partForScoring'>,
  life: Stop,
): Promise<TaskRecord> {
  if (partForScoring === undefined) return task;
  try {
    const { answer, meta = task.meta } = await life.race(partForScoring(life.signal));
    return { ...asInDataset(withoutAnswer(task)), meta, ...(answer === undefined ? {} : { answer }) };
  } catch (error) {
    // Nothing is written after a cancellation or a loss.
    if (life.reason === undefined) throw error;
    return task;
  }
}

function alone(score: EventData['score']): Scores {
  return { score, drafts: [{ kind: 'score', data: score }] };
}

/** Whether a scorer failed for a shortage of the machine, or because something of the worker's own is missing. */
function isMachineFault(thrown: unknown): boolean {
  return shortageOf(thrown) !== undefined || StudioError.is(thrown, 'unavailable');
}

function unscored(scorer: Scorer, error: ClassedError): EventData['score'] {
  return { ...nameOf(scorer), value: null, passed: null, error: error.toTrace() };
}

function nameOf({ name, version }: Scorer): Pick<EventData['score'], 'scorer' | 'version'> {
  return { scorer: name, ...(version === undefined ? {} : { version }) };
}
