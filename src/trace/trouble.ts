/** Classifies failures of calls: their own, or of the infrastructure. */

import { isEnd, type Span } from './model/spans.ts';
import type { Failure } from './model/step.ts';
import type { TrajectoryModel } from './model.ts';
import type { TraceError } from './schema.ts';

/** `interrupted`: ended by infrastructure, such as a lost worker or an unavailable model server. */
export type Trouble = 'error' | 'interrupted';

/** Returns the kind of trouble of an error. */
export function troubleIn({ class: errorClass }: Pick<TraceError, 'class'>): Trouble {
  return errorClass === 'infrastructure' ? 'interrupted' : 'error';
}

/** Returns the kind of trouble of a call; undefined while it is open, and if it succeeded. */
export function troubleOf(span: Pick<Span, 'end'> | undefined): Trouble | undefined {
  const data = span?.end?.data;
  if (data?.error !== undefined) return troubleIn(data.error);
  return data?.status === 'error' ? 'error' : undefined;
}

/** Returns the more severe of two. */
export function worse(one: Trouble | undefined, other: Trouble | undefined): Trouble | undefined {
  return one === 'error' ? one : (other ?? one);
}

/**
 * Returns whether a failure is an interruption by infrastructure that the rollout survived, for example because another
 * worker took it over. Until the rollout ends, any such failure counts as one.
 */
export function isInterruption(model: TrajectoryModel, { seq, error }: Failure): boolean {
  const event = model.event(seq);
  if (troubleIn(error) !== 'interrupted' || event === undefined || 'unknown' in event || !isEnd(event)) return false;
  if (model.end?.data.status !== 'infrastructure') return true;
  // A world or an agent fails together with the call inside, which is what ended the rollout.
  const isEnclosing = event.kind === 'world.close' || event.kind === 'agent.end';
  return model.newestStart > (isEnclosing ? (event.span ?? seq) : seq);
}
