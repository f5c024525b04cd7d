import { seedOf } from '../common/hash.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { EventData } from '../trace/schema.ts';
import type { RolloutEnding } from './ending.ts';
import { faultOf } from './faults.ts';
import type { Message, ScoreInput, Scorer, WorldSession } from './ports.ts';
import type { Stop } from './stop.ts';

interface ScoringInput {
  readonly scorer: Scorer;
  readonly task: ScoreInput['task'];
  readonly rolloutSeed: number;
  readonly messages: readonly Message[];
  readonly world: WorldSession | undefined;
  /** Cancellation and loss of the lease. */
  readonly life: Stop;
}

/**
 * Scores the final state. If the scorer fails, the result has no score but its error; if there is no state to score, it
 * has the reason.
 */
export async function scoreOf(ending: RolloutEnding, input: ScoringInput): Promise<EventData['score']> {
  const { scorer, task, rolloutSeed, messages, world, life } = input;
  if (!ending.scorable)
    return unscored(scorer, ending.error ?? new ClassedError('world_error', 'There is no final state to score.'));
  try {
    const seed = seedOf(rolloutSeed, 'score');
    const { value, passed, parts, checks, explanation } = await life.race(
      scorer.score({ task, answer: ending.answer, messages, world, seed, signal: life.signal }),
    );
    return {
      scorer: scorer.name,
      value,
      passed,
      ...(parts === undefined ? {} : { parts: { ...parts } }),
      ...(checks === undefined ? {} : { checks: [...checks] }),
      ...(explanation === undefined ? {} : { explanation }),
    };
  } catch (thrown) {
    return unscored(scorer, faultOf(thrown, 'tool_error', 'tool_error'));
  }
}

function unscored(scorer: Scorer, error: ClassedError): EventData['score'] {
  return { scorer: scorer.name, value: null, passed: null, error: error.toTrace() };
}
