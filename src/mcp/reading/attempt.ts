/** From a reference as an agent gives it to the trajectory it means. */
import { type Point, parseReference, resolveRollout } from '../../client/reference.ts';
import { StudioError } from '../../common/errors.ts';
import type { RolloutInfo } from '../../protocol/api.ts';
import type { TrajectoryModel } from '../../trace/model.ts';
import { tryReference } from '../answers/shapes.ts';
import type { Call } from '../tool.ts';

export interface OpenedAttempt {
  readonly model: TrajectoryModel;
  readonly info: RolloutInfo;
  readonly rollout: string;
  /** Its name without a point: what other tools take. */
  readonly reference: string;
  readonly point: Point;
}

/** Opens the trajectory of an attempt or rollout. Throws `usage` when the text is a batch. */
export async function openAttempt(
  text: string,
  { api, session, signal }: Pick<Call, 'api' | 'session' | 'signal'>,
): Promise<OpenedAttempt> {
  const reference = parseReference(text);
  if (reference.kind === 'batch')
    throw new StudioError('usage', `“${text}” is a batch, not one attempt.`, {
      hint: 'Give BATCH/TASK/ATTEMPT or a rollout’s id; list_attempts tells those of a batch.',
    });
  const rollout = await resolveRollout(api, reference, signal);
  const info = await api.rollout(rollout, signal);
  const model = await session.trajectories.open(api, rollout, signal);
  return { model, info, rollout, reference: tryReference(info.row), point: reference.point };
}
