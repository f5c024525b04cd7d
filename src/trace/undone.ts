/** Which calls of a world count as having happened: only those are repeated to restore its state. */
import { isJsonObject, type Json } from '../common/json.ts';
import type { Effect, ErrorClass, EventData } from './schema.ts';

/** Errors of calls that ended no other way than by being interrupted, or together with the world's session. */
const UNDONE: ReadonlySet<ErrorClass> = new Set(['timeout', 'world_error', 'cancelled', 'limit']);
/** Errors of calls that were refused before they reached a tool. */
const REFUSED: ReadonlySet<ErrorClass> = new Set(['invalid_arguments', 'unknown_tool', 'malformed_output']);
/** Also those whose worker was lost. */
const NOT_MADE: ReadonlySet<ErrorClass> = new Set([...REFUSED, 'infrastructure']);

/** Returns whether a call of a world that failed this way counts as never having happened, whatever it did. */
export function isUndone(error: ErrorClass): boolean {
  return UNDONE.has(error);
}

/** Returns whether a call with this error was refused before it reached a tool. */
export function isRefused(error: ErrorClass): boolean {
  return REFUSED.has(error);
}

/** Returns whether nothing of the arguments of a call can be read, so that no tool can get them. */
export function isUnreadable({ raw, arguments: args }: Pick<EventData['tool.start'], 'raw' | 'arguments'>): boolean {
  return raw !== undefined && (!isJsonObject(args) || Object.keys(args).length === 0);
}

/**
 * Returns whether the agent saw the end of this call as something that happens in the world, whoever answered it: a
 * time-out that a rule injected, but not one that interrupted the world.
 */
export function isObserved(end: EventData['tool.end'] | undefined): boolean {
  if (end === undefined || end.status === 'cut') return false;
  const errorClass = end.error?.class;
  return errorClass === undefined || (errorClass !== 'infrastructure' && (end.made === false || !isUndone(errorClass)));
}

/**
 * Returns how a call was answered, for a world that observes it. `origin`: of the message with the response; an edit
 * has its own.
 */
export function howObserved(
  end: EventData['tool.end'] | undefined,
  origin: EventData['message']['origin'] | undefined,
): { readonly invented: boolean; readonly made: boolean; readonly real?: Json } {
  if (end === undefined) return { invented: true, made: false };
  const { source, injected, real, error } = end;
  const made = end.made !== false && (error === undefined || !NOT_MADE.has(error.class));
  const isReal = source === 'live' || source === 'recorded';
  const invented = !isReal || injected !== undefined || origin === 'edited';
  return { invented, made, ...(real === undefined ? {} : { real }) };
}

/** Returns whether the call of a world with this end happened, so that it may have changed the world. */
export function hasHappened(end: EventData['tool.end'] | undefined): boolean {
  if (end === undefined || end.made === false || end.source === 'edited' || end.status === 'cut') return false;
  return end.error === undefined || !(isUndone(end.error.class) || NOT_MADE.has(end.error.class));
}

/**
 * Returns whether a call of a world that happened is made again to restore its state. `changed`: it reported changes,
 * which a tool that is declared as pure should not.
 */
export function isRepeated(effect: Effect, changed: boolean): boolean {
  return effect === 'restorable' || (effect === 'pure' && changed);
}
