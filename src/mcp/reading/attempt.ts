/** Resolves references to trajectories. */
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
  /** Its reference without a point, for use with other tools. */
  readonly reference: string;
  readonly point: Point;
}

/** Opens the trajectory of an attempt or rollout. Throws StudioError `usage` if the text is a batch. */
export async function openAttempt(
  text: string,
  { api, session, signal }: Pick<Call, 'api' | 'session' | 'signal'>,
): Promise<OpenedAttempt> {
  const reference = parseReference(text);
  if (reference.kind === 'batch')
    throw new StudioError('usage', `“${text}” is a batch, not an attempt.`, {
      hint: 'Pass BATCH/TASK/ATTEMPT or a rollout ID. List the attempts of a batch with list_attempts.',
    });
  const rollout = await resolveRollout(api, reference, signal);
  const info = await api.rollout(rollout, signal);
  const model = await session.trajectories.open(api, rollout, signal);
  return { model, info, rollout, reference: tryReference(info.row), point: reference.point };
}
