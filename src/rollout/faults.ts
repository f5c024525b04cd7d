import { errorText, StudioError } from '../common/errors.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { ErrorClass } from '../trace/schema.ts';

/** What a user can fix and another try cannot. */
const USERS = new Set<string>(['config', 'usage', 'unsupported']);

/**
 * Anything thrown, with a class. `users`: the class of what is wrong in the user's own files; `ours`: of what has
 * neither a class nor a user to fix it. The hint stays in the text.
 */
export function faultOf(thrown: unknown, users: ErrorClass, ours: ErrorClass): ClassedError {
  if (!StudioError.is(thrown)) return ClassedError.from(thrown, ours);
  return new ClassedError(USERS.has(thrown.code) ? users : ours, errorText(thrown), { cause: thrown });
}
