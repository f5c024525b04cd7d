/**
 * What a rollout's own history allows next. A worker that runs a rollout never writes anything else, so an event that
 * does not fit was made by somebody who took its token.
 *
 * The state is small and part of the rollout's row, so it follows the rollout to other servers and workers.
 */
import type { EventData, TraceEvent } from '../../trace/schema.ts';

type Spans = 'model' | 'tool' | 'agent' | 'world';

export interface StreamGuard {
  /** Seq of the first event that the rollout does not share with the parent of its fork. */
  readonly from: number;
  /** Open spans, by seq of their start. */
  readonly open: Readonly<Record<string, Spans>>;
  /** The epoch in which the expected answer was handed out: its agent takes no action after that. */
  readonly scoring?: number;
  /** What the scorer wrote. */
  readonly score?: Pick<EventData['score'], 'value' | 'passed'>;
}

const STARTS: Readonly<Partial<Record<string, Spans>>> = {
  'model.start': 'model',
  'tool.start': 'tool',
  'agent.start': 'agent',
  'world.open': 'world',
};
const ENDS: Readonly<Partial<Record<string, Spans>>> = {
  'model.end': 'model',
  'tool.end': 'tool',
  'agent.end': 'agent',
  'world.close': 'world',
};

/** Returns the state after these events of an epoch, or why one of them does not fit. Pure. */
export function follow(
  guard: StreamGuard,
  epoch: number,
  events: readonly TraceEvent[],
): { readonly guard: StreamGuard } | { readonly problem: string } {
  let next = guard;
  for (const event of events) {
    const problem = problemOf(next, epoch, event);
    if (problem !== undefined) return { problem: `event ${event.seq} (${event.kind}) ${problem}` };
    next = after(next, event);
  }
  return { guard: next };
}

function problemOf(guard: StreamGuard, epoch: number, event: TraceEvent): string | undefined {
  const ends = ENDS[event.kind];
  if (ends !== undefined) return isOpen(guard, event, ends) ? undefined : 'ends a span that is not open';
  // A scorer may ask side models.
  if (STARTS[event.kind] !== undefined && !isSide(event))
    return guard.scoring === epoch ? 'is an action of the agent after scoring began' : undefined;
  switch (event.kind) {
    case 'rollout.start':
      return event.seq === guard.from ? undefined : 'starts the rollout again';
    case 'rollout.lease':
      return event.data.epoch === epoch ? undefined : `names epoch ${event.data.epoch} instead of ${epoch}`;
    case 'score':
      if (event.span !== undefined) return undefined; // of a single call, at any time
      if (guard.score !== undefined) return 'is a second score';
      return guard.scoring === epoch ? undefined : 'is a score before scoring began';
    case 'rollout.end':
      return problemOfEnd(guard, epoch, event.data);
    default:
      return undefined;
  }
}

function problemOfEnd(
  { score, scoring }: StreamGuard,
  epoch: number,
  end: EventData['rollout.end'],
): string | undefined {
  const isUnscored = end.passed === null && end.reward === null;
  if (isUnscored && (end.status === 'cancelled' || end.status === 'infrastructure')) return undefined;
  if (score !== undefined)
    return score.passed === end.passed && score.value === end.reward ? undefined : 'differs from the score';
  return isUnscored || scoring === epoch ? undefined : 'has a reward before scoring began';
}

function isSide(event: TraceEvent): boolean {
  return event.kind === 'model.start' && event.data.side !== undefined;
}

/** A fork also closes the spans in which it was cut, which its parent has opened. */
function isOpen(guard: StreamGuard, { span, data }: TraceEvent, kind: Spans): boolean {
  if (span === undefined) return false;
  if (span < guard.from) return 'status' in data && data.status === 'cut';
  return guard.open[span] === kind;
}

function after(guard: StreamGuard, event: TraceEvent): StreamGuard {
  const starts = STARTS[event.kind];
  if (starts !== undefined) return { ...guard, open: { ...guard.open, [event.seq]: starts } };
  if (ENDS[event.kind] !== undefined && event.span !== undefined) {
    const { [event.span]: _ended, ...open } = guard.open;
    return { ...guard, open };
  }
  if (event.kind === 'score' && event.span === undefined)
    return { ...guard, score: { value: event.data.value, passed: event.data.passed } };
  return guard;
}
