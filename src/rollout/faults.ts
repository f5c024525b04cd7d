import { errorText, StudioError } from '../common/errors.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { ErrorClass } from '../trace/schema.ts';

/** Error codes that a user can fix and a retry cannot. */
const USERS = new Set<string>(['config', 'usage', 'unsupported']);

/**
 * Converts any thrown value to a ClassedError. `users`: the class of errors in the user's files; `ours`: the class of
 * all others without a class. The hint becomes part of the message.
 */
export function faultOf(thrown: unknown, users: ErrorClass, ours: ErrorClass): ClassedError {
  if (!StudioError.is(thrown)) return ClassedError.from(thrown, ours);
  return new ClassedError(USERS.has(thrown.code) ? users : ours, errorText(thrown), { cause: thrown });
}
