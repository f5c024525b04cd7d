/** Work in a reader thread that is ended when it takes too long. */
import { createContext, Script } from 'node:vm';
import type { Match, TextSearch } from '../../../rollout/ports.ts';
import { ClassedError } from '../../../trace/classedError.ts';

/** Nested repetitions in a pattern can backtrack extremely long. */
const LIMIT_MS = 1000;

/** Throws ClassedError `malformed_output` if the search takes too long. */
export function search({ pattern, flags, text, which }: TextSearch): Match | null {
  const expression = new RegExp(pattern, `${flags.replace(/[gy]/g, '')}g`);
  return within(`Searching a text with the pattern /${pattern}/`, () => {
    let found: RegExpExecArray | null = null;
    for (const match of text.matchAll(expression)) {
      found = match;
      if (which === 'first') break;
    }
    return found === null ? null : [...found].map((group: string | undefined) => group ?? null);
  });
}

/** Throws ClassedError `malformed_output`, which names `what`, if the work takes too long. */
export function within<T>(what: string, work: () => T): T {
  const scope: { work: () => T; result?: T } = { work };
  createContext(scope);
  try {
    new Script('result = work()').runInContext(scope, { timeout: LIMIT_MS }); // V8 interrupts only other contexts
  } catch (thrown) {
    if (!isTimeout(thrown)) throw thrown;
    throw new ClassedError('malformed_output', `${what} took more than ${LIMIT_MS} ms.`, { cause: thrown });
  }
  return scope.result as T; // the script has set it
}

/** The error of a timeout comes from the other context, so it is no instance of this one's Error. */
function isTimeout(thrown: unknown): boolean {
  return (
    typeof thrown === 'object' && thrown !== null && 'code' in thrown && thrown.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
