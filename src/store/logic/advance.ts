import { advanceProgress } from '../../trace/progress.ts';
import type { EventOf, TraceEvent } from '../../trace/schema.ts';
import type { RolloutRecordRow } from './rolloutState.ts';

/**
 * Applies events to the row of their rollout. A queued one stays queued until it ends: its worker was lost, and may
 * come back.
 */
export function advance(rollout: RolloutRecordRow, events: readonly TraceEvent[]): void {
  rollout.last = events.at(-1)?.seq ?? rollout.last;
  rollout.progress = advanceProgress(rollout.progress, events);
  const end = events.findLast((event): event is EventOf<'rollout.end'> => event.kind === 'rollout.end');
  if (end !== undefined) {
    rollout.state = 'ended';
    rollout.outcome = end.data.status;
    rollout.session = null;
    rollout.guard = undefined;
  } else if (rollout.state !== 'queued') {
    rollout.state = rollout.progress.hold === undefined ? 'running' : 'held';
  }
}
