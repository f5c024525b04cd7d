import type { Json } from '../common/json.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { RolloutEndStatus } from '../trace/schema.ts';
import { PrefixDivergence } from './act/prefix.ts';
import { faultOf } from './faults.ts';

/** How a rollout ended. */
export interface RolloutEnding {
  readonly status: RolloutEndStatus;
  readonly answer: Json;
  readonly error?: ClassedError;
  /** Whether there is a final state to score; otherwise, the score is null. */
  readonly scorable: boolean;
  /** Why not, if that is not the error with which the rollout ended. */
  readonly unscorable?: ClassedError | undefined;
}

/**
 * Returns the ending for an error. Limits and context overflows truncate a rollout; infrastructure errors end the
 * attempt; a failed world leaves nothing to score; any other failure is the agent's own and is scored.
 */
export function endingOf(thrown: unknown, answerSoFar: Json, setUp: boolean): RolloutEnding {
  if (thrown instanceof PrefixDivergence)
    return {
      status: 'infrastructure',
      answer: null,
      error: new ClassedError('infrastructure', thrown.message),
      scorable: false,
    };
  const error = faultOf(thrown, 'tool_error', 'infrastructure');
  switch (error.class) {
    case 'infrastructure':
      return { status: 'infrastructure', answer: null, error, scorable: false };
    case 'cancelled':
      return { status: 'cancelled', answer: null, error, scorable: false };
    case 'limit':
    case 'context_overflow':
      return { status: 'truncated', answer: answerSoFar, error, scorable: setUp };
    case 'world_error':
      return { status: 'done', answer: null, error, scorable: false };
    default:
      return { status: 'done', answer: null, error, scorable: setUp };
  }
}
