/** The selection, and its position in the trajectory. */

import type { MessageEntry } from '../../../src/trace/model/messages.ts';
import type { AgentSpan, ModelSpan, ToolSpan, WorldSpan } from '../../../src/trace/model/spans.ts';
import type { Step } from '../../../src/trace/model/step.ts';
import type { AnyEvent, TrajectoryModel } from '../../../src/trace/model.ts';
import type { EventOf } from '../../../src/trace/schema.ts';

export type Subject =
  | { readonly kind: 'tool'; readonly span: ToolSpan; readonly step: Step | undefined }
  | { readonly kind: 'model'; readonly span: ModelSpan; readonly step: Step | undefined }
  | { readonly kind: 'agent'; readonly span: AgentSpan; readonly step: Step | undefined }
  | { readonly kind: 'world'; readonly span: WorldSpan; readonly step: Step | undefined }
  | { readonly kind: 'message'; readonly entry: MessageEntry; readonly step: Step | undefined }
  | {
      readonly kind: 'score';
      readonly event: EventOf<'score'>;
      /** Index of the selected check; undefined for the score itself. */
      readonly check: number | undefined;
      readonly step: undefined;
    }
  | { readonly kind: 'event'; readonly event: AnyEvent; readonly step: Step | undefined };

/** Returns the subject at `seq`; undefined if there is no event. */
export function subjectAt(model: TrajectoryModel, seq: number, check?: number): Subject | undefined {
  const event = model.event(seq);
  if (event === undefined) return undefined;
  if (event.kind === 'score' && !('unknown' in event)) return { kind: 'score', event, check, step: undefined };
  const step = model.stepOf(seq);
  const span = model.span(seq) ?? (event.span === undefined ? undefined : model.span(event.span));
  if (event.kind === 'message' && !('unknown' in event)) {
    const entry = model.message(event.data.m);
    if (entry !== undefined) return { kind: 'message', entry, step };
  }
  switch (span?.kind) {
    case 'tool':
      return { kind: 'tool', span, step };
    case 'model':
      return { kind: 'model', span, step };
    case 'agent':
      return { kind: 'agent', span, step };
    case 'world':
      return { kind: 'world', span, step };
    case undefined:
      return { kind: 'event', event, step };
  }
}

/** Returns the model call of a subject: itself, or that of its step. */
export function modelCallOf(subject: Subject): ModelSpan | undefined {
  return subject.kind === 'model' ? subject.span : subject.step?.model;
}

/** Returns the events of a subject: for a span its start, its end, and events that refer to it. */
export function eventsOf(model: TrajectoryModel, subject: Subject): AnyEvent[] {
  switch (subject.kind) {
    case 'message':
      return [subject.entry.event, ...subject.entry.edits];
    case 'event':
    case 'score':
      return [subject.event];
    default: {
      const { seq } = subject.span;
      const own = (subject.step?.seqs ?? [])
        .flatMap((at) => model.event(at) ?? [])
        .filter((event) => event.seq === seq || event.span === seq);
      const end = subject.span.end;
      return end !== undefined && !own.some((event) => event.seq === end.seq) ? [...own, end] : own;
    }
  }
}
