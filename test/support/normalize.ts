/**
 * Returns a rollout's events without what may differ between an undisturbed run and a resumed one: leases, times,
 * workers, spans that a takeover closed, and the numbers (seq, message ordinals) that follow from them. Parallel calls
 * are sorted by the order in which they began.
 */
import type { TraceEvent } from '../../src/trace/schema.ts';

/** Fields with times or worker identities. */
const VOLATILE = new Set([
  'ms',
  'first_ms',
  'queue_ms',
  'held_ms',
  'at',
  'retries',
  'worker',
  'endpoint',
  'batch',
  'cached_tokens',
]);

export function normalize(events: readonly TraceEvent[]): unknown[] {
  const dropped = closedAtTakeover(events);
  const messages = new Map<number, unknown>();
  for (const event of events)
    if (event.kind === 'message')
      messages.set(event.data.m, { role: event.data.role, parts: event.data.parts, origin: event.data.origin });
  const ends = new Map<number, TraceEvent[]>();
  for (const event of events) {
    if (event.span === undefined || dropped.has(event.seq)) continue;
    const list = ends.get(event.span);
    if (list === undefined) ends.set(event.span, [event]);
    else list.push(event);
  }
  const say = (m: number | undefined): unknown => (m === undefined ? undefined : messages.get(m));
  // What a takeover repeated is placed where it first began.
  const begun = new Map<string, number>();
  for (const event of events) {
    const key = keyOf(event);
    if (!begun.has(key)) begun.set(key, event.seq);
  }
  const kept = events.filter(
    (event) =>
      !dropped.has(event.seq) && event.kind !== 'rollout.lease' && event.kind !== 'message' && event.span === undefined,
  );
  return kept
    .sort((a, b) => (begun.get(keyOf(a)) ?? a.seq) - (begun.get(keyOf(b)) ?? b.seq))
    .map((event) => {
      const data: Record<string, unknown> = { ...stable(event.data) };
      // A resumed rollout shares its context by content, not by ordinal.
      if (event.kind === 'model.start')
        data['context'] = event.data.context.flatMap(([from, to]) =>
          Array.from({ length: to - from + 1 }, (_, index) => say(from + index)),
        );
      const own = ends.get(event.seq) ?? [];
      // A world that was opened again begins with the saved state that the lost session left.
      if (event.kind === 'world.open') {
        data['state'] = own.findLast((end) => end.kind === 'world.snapshot')?.data.snapshot ?? event.data.from;
        delete data['from'];
      }
      const belongs = own
        .filter((end) => end.kind !== 'world.snapshot')
        .map((end) => ({
          kind: end.kind,
          data: stable(end.data),
          said: 'm' in end.data ? say(end.data.m) : undefined,
        }));
      return { kind: event.kind, agent: event.agent, data, belongs };
    });
}

/** Identifies what an event begins, regardless of when. */
function keyOf(event: TraceEvent): string {
  switch (event.kind) {
    case 'model.start':
      return `model ${event.agent ?? ''} ${event.data.step}`;
    case 'tool.start':
      return `tool ${event.agent ?? ''} ${event.data.call}`;
    case 'world.open':
      return `world ${event.data.world}`;
    default:
      return `${event.kind} ${event.seq}`;
  }
}

/** seqs of spans that a new holder closed, with the events that belong to them. */
function closedAtTakeover(events: readonly TraceEvent[]): Set<number> {
  const dropped = new Set<number>();
  for (const event of events) {
    if (event.span === undefined || !('error' in event.data)) continue;
    const error = event.data.error;
    if (error?.class === 'infrastructure') {
      dropped.add(event.span);
      dropped.add(event.seq);
    }
  }
  for (const event of events) if (event.span !== undefined && dropped.has(event.span)) dropped.add(event.seq);
  return dropped;
}

function stable(value: unknown): Record<string, unknown> {
  return strip(value) as Record<string, unknown>;
}

function strip(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strip);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !VOLATILE.has(key) && key !== 'm')
      .map(([key, member]) => [key, strip(member)]),
  );
}
