/** Work in a reader thread that is ended when it takes too long. */
import { createContext, Script } from 'node:vm';
import type { Match, TextSearch } from '../../../rollout/ports.ts';
import { ClassedError } from '../../../trace/classedError.ts';

/** Processor time. Nested repetitions in a pattern can backtrack extremely long. */
const LIMIT_MS = 1000;
/** How long work may take where its processor time is unknown. */
const WALL_LIMIT_MS = 4 * LIMIT_MS;

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

/**
 * Throws ClassedError `malformed_output`, which names `what`, if the work takes too long. Time in which the thread
 * waits for a processor does not count: on a busy machine, the work begins again with more time. It must have no
 * effects.
 */
export function within<T>(what: string, work: () => T): T {
  const scope: { work: () => T; result?: T } = { work };
  createContext(scope);
  const script = new Script('result = work()');
  for (let timeout = LIMIT_MS; ; timeout *= 2) {
    const before = processorMs();
    try {
      script.runInContext(scope, { timeout }); // V8 interrupts only other contexts
      return scope.result as T; // the script has set it
    } catch (thrown) {
      if (!isTimeout(thrown)) throw thrown;
      const after = processorMs();
      const isSlow =
        before === undefined || after === undefined ? timeout >= WALL_LIMIT_MS : after - before >= LIMIT_MS / 2;
      if (isSlow)
        throw new ClassedError('malformed_output', `${what} took more than ${LIMIT_MS} ms.`, { cause: thrown });
    }
  }
}

/** Returns the processor time of this thread; undefined before Node 23.9. */
function processorMs(): number | undefined {
  if (!('threadCpuUsage' in process)) return undefined;
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The error of a timeout comes from the other context, so it is no instance of this one's Error. */
function isTimeout(thrown: unknown): boolean {
  return (
    typeof thrown === 'object' && thrown !== null && 'code' in thrown && thrown.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
