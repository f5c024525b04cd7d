import type { EventData, TraceError } from '../../trace/schema.ts';
import type { Draft, Log } from '../log/log.ts';
import { END_OF, type StartKind } from '../log/log.ts';
import type { ToolEntry } from '../tools/toolSet.ts';
import type { Flights } from './flights.ts';
import { type History, toolKey } from './history.ts';

/**
 * Returns the ends that close all open spans, newest first, because they may be nested. `cut`: they continue in the
 * parent of a fork.
 */
export function closeSpans(log: Log, why: TraceError | 'cut'): Draft[] {
  return log.openSpans.toReversed().map(
    (start): Draft =>
      ({
        kind: END_OF[start.kind],
        agent: start.agent,
        span: start.seq,
        data: why === 'cut' ? cutData(start.kind) : endData(start.kind, why),
      }) as Draft,
  ); // kind and data go together by `endData`
}

/** What a rollout is doing when it is handed over. */
interface Handover {
  readonly log: Log;
  readonly flights: Pick<Flights, 'hasBegun'>;
  readonly holds: { readonly current: { readonly subject: { readonly span: number } } | undefined };
  /** The first seq that does not belong to an ancestor. */
  readonly ownFrom: number;
}

/** Returns the ends of calls that were requested and not made, so that nobody takes them for lost. */
export function unmadeCalls({ log, flights, holds, ownFrom }: Handover): Draft[] {
  const error = { class: 'infrastructure', message: 'The rollout was handed over before the call was made.' } as const;
  return log.openSpans.flatMap(({ kind, seq, agent }): Draft[] => {
    // One that is held stays at its gate.
    if (flights.hasBegun(seq) || seq < ownFrom || holds.current?.subject.span === seq) return [];
    if (kind === 'model.start')
      return [{ kind: 'model.end', agent, span: seq, data: endData(kind, error) as EventData['model.end'] }];
    if (kind !== 'tool.start') return [];
    const data = endData(kind, error) as EventData['tool.end'];
    return [{ kind: 'tool.end', agent, span: seq, data: { ...data, made: false } }];
  });
}

/** Returns the data of the end of a span that fails with an error. */
export function endData(kind: StartKind, error: TraceError): EventData[(typeof END_OF)[StartKind]] {
  switch (kind) {
    case 'model.start':
      return { status: 'error', trainable: false, why_not: 'the call failed', source: 'live', error };
    case 'tool.start':
      return { status: 'error', source: 'live', error };
    case 'agent.start':
      return { status: 'error', error };
    case 'world.open':
      return { error };
  }
}

function cutData(kind: StartKind): EventData[(typeof END_OF)[StartKind]] {
  switch (kind) {
    case 'model.start':
      return { status: 'cut', trainable: false, why_not: 'the fork was cut in this call', source: 'live' };
    case 'tool.start':
      return { status: 'cut', source: 'live' };
    case 'agent.start':
    case 'world.open':
      return { status: 'cut' };
  }
}

/** An open span that a takeover closes. */
interface OpenCall {
  readonly name: string;
  /** Whether it waited at its gate and was never performed. */
  readonly waiting: boolean;
}

/**
 * Returns this rollout's open calls that must not be repeated. `ownFrom`: the first seq that does not belong to an
 * ancestor.
 */
export function openIrreversible(log: Log, history: History, ownFrom: number): OpenCall[] {
  return log.openSpans.flatMap((start) => {
    if (start.kind !== 'tool.start' || start.data.effect !== 'irreversible' || start.seq < ownFrom) return [];
    const hold = history.openHold;
    return [{ name: start.data.name, waiting: hold?.span === start.seq && hold.side === 'before' }];
  });
}

/** How many workers may be lost in the same call before the call is considered the cause. */
const MAX_LOSSES = 3;

/** Returns tools whose call was open each time a worker was lost, that often. `ownFrom`: as above. */
export function deadlyCalls(log: Log, history: History, ownFrom: number): string[] {
  return log.openSpans.flatMap((start) => {
    // A call handled by another agent may outlive several workers.
    if (start.kind !== 'tool.start' || start.seq < ownFrom || history.delegating.has(start.seq)) return [];
    if (history.wasAsking(start.seq)) return [];
    const losses = 1 + history.lostCalls(ownFrom, start.agent ?? '', toolKey(start.data));
    return losses >= MAX_LOSSES ? [start.data.name] : [];
  });
}

/** Returns whether a call that ended like this may have run its tool. */
export function mayHaveRun(end: EventData['tool.end'] | undefined): boolean {
  const { source, made, error } = end ?? {};
  const notPerformed =
    made === false ||
    error?.class === 'invalid_arguments' ||
    error?.class === 'unknown_tool' ||
    error?.class === 'malformed_output';
  return source !== 'edited' && !notPerformed;
}

/**
 * Returns the names of tools whose calls depended on a session that is lost and cannot be restored: of a stateful
 * server, a shell, or a world without snapshots. `find` returns the tool of an agent. `from`: the first seq that
 * counts.
 */
export function lostSessions(
  history: History,
  find: (agent: string, name: string) => ToolEntry | undefined,
  from: number,
): string[] {
  const names = new Set<string>();
  for (const action of history.endedCalls(from)) {
    const tool = find(action.agent, action.name);
    const { end } = action;
    if (tool === undefined || end === undefined || !mayHaveRun(end.data)) continue;
    if (tool.world === undefined ? tool.spec.sessionBound : tool.world.isLost(action, tool.spec))
      names.add(action.name);
  }
  return [...names];
}
