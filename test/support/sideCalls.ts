/** Counts the calls of a side model, by the seed of their request. */
import type { TraceEvent } from '../../src/trace/schema.ts';

interface SideCallCount {
  /** Replies that are recorded. */
  readonly answered: number;
  /** Requests that were lost with a worker. */
  readonly lost: number;
  /** Recorded replies that were used again. */
  readonly copies: number;
}

export function countSideCalls(events: readonly TraceEvent[], side: string): Map<number, SideCallCount> {
  const counts = new Map<number, SideCallCount>();
  const seeds = new Map<number, number>();
  for (const event of events) {
    if (event.kind === 'model.start' && event.data.side === side)
      seeds.set(event.seq, event.data.sampling['seed'] as number);
    const seed = event.kind === 'model.end' ? seeds.get(event.span ?? 0) : undefined;
    if (event.kind !== 'model.end' || seed === undefined) continue;
    const { answered, lost, copies } = counts.get(seed) ?? { answered: 0, lost: 0, copies: 0 };
    const isLost = event.data.error?.class === 'infrastructure';
    const isCopy = !isLost && event.data.source === 'recorded';
    counts.set(seed, {
      answered: answered + (isLost || isCopy ? 0 : 1),
      lost: lost + (isLost ? 1 : 0),
      copies: copies + (isCopy ? 1 : 0),
    });
  }
  return counts;
}
