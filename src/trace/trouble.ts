/** Classifies failures of calls: their own, or of the infrastructure. */

import { isEnd, type Span } from './model/spans.ts';
import type { Failure } from './model/step.ts';
import type { TrajectoryModel } from './model.ts';
import type { TraceError } from './schema.ts';

/** `interrupted`: infrastructure ended it, as of a lost worker or a model server that stayed away. */
export type Trouble = 'error' | 'interrupted';

/** Returns the kind of trouble of an error. */
export function troubleIn({ class: of }: Pick<TraceError, 'class'>): Trouble {
  return of === 'infrastructure' ? 'interrupted' : 'error';
}

/** What went wrong with a call; undefined while it is open, and where nothing did. */
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
 * Whether infrastructure broke something off and the rollout went on, as when another worker took it over. What ended a
 * rollout is none; while one runs it is not known yet, and taken for one.
 */
export function isInterruption(model: TrajectoryModel, { seq, error }: Failure): boolean {
  const event = model.event(seq);
  if (troubleIn(error) !== 'interrupted' || event === undefined || 'unknown' in event || !isEnd(event)) return false;
  if (model.end?.data.status !== 'infrastructure') return true;
  // A world or an agent breaks off together with the call that was made in it: that one is what ended the rollout.
  const around = event.kind === 'world.close' || event.kind === 'agent.end';
  return model.newestStart > (around ? (event.span ?? seq) : seq);
}
