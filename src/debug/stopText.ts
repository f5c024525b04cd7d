/** Describes why a rollout stopped, and how it ended. */
import type { DebuggedRollout } from './debuggedRollout.ts';
import type { StopReason } from './debuggee.ts';

export function stopText(rollout: DebuggedRollout, reason: StopReason): string | undefined {
  switch (reason) {
    case 'end':
      return rollout.debuggee.model.end === undefined ? 'End of the recording' : 'End of the trajectory';
    case 'input':
      return 'Waiting for an answer';
    case 'lost_server':
      return 'Waiting for its server';
    case 'exception': {
      const { model } = rollout.debuggee;
      const place = rollout.cursor?.place;
      const at = place === undefined ? undefined : model.event(place.at);
      if (at !== undefined && !('unknown' in at) && at.kind === 'score') return `Reward ${at.data.value ?? 'none'}`;
      const end = place === undefined ? undefined : model.span(place.seq)?.end?.data;
      const error = end !== undefined && 'error' in end ? end.error : undefined;
      return error === undefined ? undefined : `${error.class}: ${error.message}`;
    }
    default:
      return undefined;
  }
}

/** Returns undefined while the rollout runs. */
export function endText({ debuggee, title }: DebuggedRollout): string | undefined {
  const end = debuggee.model.end?.data;
  if (end === undefined) return undefined;
  const verdict = end.passed === null ? 'unscored' : end.passed ? 'passed' : 'failed';
  return (
    `${title}: ${end.status}, ` +
    `${verdict}${end.reward === null ? '' : `, reward ${end.reward}`}` +
    (end.error === undefined ? '' : `, ${end.error.class}: ${end.error.message}`)
  );
}
