import type { EventData, EventOf, TraceError } from '../../trace/schema.ts';
import type { LoggedMessage } from '../log/messages.ts';

/** Kinds of outside effects and the events that record them. A call of a side model is a model call. */
export interface Effects {
  readonly model: { readonly start: EventData['model.start']; readonly end: EventData['model.end'] };
  readonly tool: { readonly start: EventData['tool.start']; readonly end: EventData['tool.end'] };
  /** Its end is written when the world is closed, or could not be opened. */
  readonly world: { readonly start: EventData['world.open']; readonly end: EventData['world.close'] };
}
export type EffectKind = keyof Effects;

/** One effect as a log has it. */
export interface RecordedAction<K extends EffectKind = EffectKind> {
  readonly agent: string;
  readonly kind: K;
  /** Name of a tool or world; always `model` for model calls, because another model may continue the same prefix. */
  readonly name: string;
  /** The request as a comparable text (see the `…Key` functions). */
  readonly key: string;
  /** seq of the start. */
  readonly seq: number;
  /** For a side model's call inside a tool call: seq of that call. */
  readonly within?: number;
  readonly start: Effects[K]['start'];
  /** Absent while it is open. */
  end?: { readonly seq: number; readonly data: Effects[K]['end']; readonly message: LoggedMessage | undefined };
}

/** Returns whether it can be an answer: it ended, and not because its worker was lost or its tool call ended. */
export function isComplete(action: RecordedAction): boolean {
  return action.end !== undefined && !isLost(action.end.data) && !isCutShort(action);
}

/** Classes of errors of calls that were ended, rather than failed. */
const ENDED: ReadonlySet<string> = new Set(['cancelled', 'timeout', 'limit']);

/** Returns whether a side model's call ended without an answer because the tool call around it did. */
export function isCutShort({ within, end }: Pick<RecordedAction, 'within' | 'end'>): boolean {
  return within !== undefined && end?.data.error !== undefined && ENDED.has(end.data.error.class);
}

/** Returns whether the effect was lost with its worker, or belongs to the parent of a fork. */
export function isLost(
  end: { readonly status?: string | undefined; readonly error?: TraceError | undefined } | undefined,
): boolean {
  return end?.status === 'cut' || end?.error?.class === 'infrastructure';
}

export function endOf(
  event: EventOf<'model.end' | 'tool.end' | 'world.close'>,
  message: LoggedMessage | undefined,
): NonNullable<RecordedAction['end']> {
  return { seq: event.seq, data: event.data, message };
}
