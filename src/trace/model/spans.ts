/** Spans: a start and, once it has ended, its end. */
import type { EventOf, TraceError, TraceEvent } from '../schema.ts';

interface SpanOf<K extends string, S, E> {
  readonly kind: K;
  /** seq of the start, which identifies the span. */
  readonly seq: number;
  readonly start: S;
  /** Absent while the span is open. */
  end?: E;
  /** seq of the enclosing start; 0 if there is none. */
  readonly parent: number;
  readonly step: number;
  /** Instance path of the agent; '' in streams without agents. */
  readonly agent: string;
}

export type ModelSpan = SpanOf<'model', EventOf<'model.start'>, EventOf<'model.end'>>;
export type ToolSpan = SpanOf<'tool', EventOf<'tool.start'>, EventOf<'tool.end'>>;
export type AgentSpan = SpanOf<'agent', EventOf<'agent.start'>, EventOf<'agent.end'>>;
export type WorldSpan = SpanOf<'world', EventOf<'world.open'>, EventOf<'world.close'>>;
export type Span = ModelSpan | ToolSpan | AgentSpan | WorldSpan;

export type StartEvent = Span['start'];
export type EndEvent = NonNullable<Span['end']>;

export function isStart(event: TraceEvent): event is StartEvent {
  return (
    event.kind === 'model.start' ||
    event.kind === 'tool.start' ||
    event.kind === 'agent.start' ||
    event.kind === 'world.open'
  );
}

export function isEnd(event: TraceEvent): event is EndEvent {
  return (
    event.kind === 'model.end' ||
    event.kind === 'tool.end' ||
    event.kind === 'agent.end' ||
    event.kind === 'world.close'
  );
}

export function spanOf(start: StartEvent, step: number): Span {
  const common = { seq: start.seq, parent: start.parent ?? 0, step, agent: start.agent ?? '' };
  switch (start.kind) {
    case 'model.start':
      return { kind: 'model', start, ...common };
    case 'tool.start':
      return { kind: 'tool', start, ...common };
    case 'agent.start':
      return { kind: 'agent', start, ...common };
    case 'world.open':
      return { kind: 'world', start, ...common };
  }
}

/** Sets the end of a span. Returns false if it has one already, or if the end is of another kind. */
export function closeSpan(span: Span, end: EndEvent): boolean {
  if (span.end !== undefined) return false;
  if (span.kind === 'model' && end.kind === 'model.end') span.end = end;
  else if (span.kind === 'tool' && end.kind === 'tool.end') span.end = end;
  else if (span.kind === 'agent' && end.kind === 'agent.end') span.end = end;
  else if (span.kind === 'world' && end.kind === 'world.close') span.end = end;
  else return false;
  return true;
}

export function errorOf(event: TraceEvent): TraceError | undefined {
  switch (event.kind) {
    case 'model.end':
    case 'tool.end':
    case 'agent.end':
    case 'world.close':
    case 'score':
    case 'rollout.end':
      return event.data.error;
    default:
      return undefined;
  }
}
