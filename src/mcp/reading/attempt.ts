/** Resolves references to trajectories. */
import { type Point, parseReference, resolveRollout } from '../../client/reference.ts';
import { StudioError } from '../../common/errors.ts';
import type { RolloutInfo } from '../../protocol/api.ts';
import type { TrajectoryModel } from '../../trace/model.ts';
import type { Header } from '../../trace/text/header.ts';
import { tryReference } from '../answers/shapes.ts';
import type { Call } from '../tool.ts';
import { wholeOf } from './trajectories.ts';

export interface FoundAttempt {
  readonly info: RolloutInfo;
  readonly rollout: string;
  /** Its reference without a point, for use with other tools. */
  readonly reference: string;
  readonly point: Point;
}

export interface OpenedAttempt extends FoundAttempt {
  /** Complete, or with only the requested step. */
  readonly model: TrajectoryModel;
  readonly header: Header;
}

/** Finds an attempt or rollout. Throws StudioError `usage` if the text is a batch. */
export async function findAttempt(text: string, { api, signal }: Pick<Call, 'api' | 'signal'>): Promise<FoundAttempt> {
  const reference = parseReference(text);
  if (reference.kind === 'batch')
    throw new StudioError('usage', `“${text}” is a batch, not an attempt.`, {
      hint: 'Pass BATCH/TASK/ATTEMPT or a rollout ID. List the attempts of a batch with list_attempts.',
    });
  const rollout = await resolveRollout(api, reference, signal);
  const info = await api.rollout(rollout, signal);
  return { info, rollout, reference: tryReference(info.row), point: reference.point };
}

/**
 * Opens the trajectory of an attempt or rollout. `onlyStep` returns the only step that is needed, if any. Throws
 * StudioError `usage` if the text is a batch, and `not_found` if there is no such step.
 */
export async function openAttempt(
  text: string,
  { api, session, signal }: Pick<Call, 'api' | 'session' | 'signal'>,
  onlyStep: (point: Point) => number | undefined = () => undefined,
): Promise<OpenedAttempt> {
  const found = await findAttempt(text, { api, signal });
  const { info, rollout, point } = found;
  const { trajectories } = session;
  const step = onlyStep(point);
  const { model, header } =
    step === undefined
      ? wholeOf(await trajectories.open(api, rollout, signal))
      : await trajectories.openStep(api, info, step, signal);
  return { ...found, model, header };
}
