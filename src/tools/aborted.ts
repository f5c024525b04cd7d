import { ClassedError } from '../trace/classedError.ts';

/** Returns the error of an aborted call: the reason if it has a class, otherwise `timeout` or `cancelled`. */
export function abortedError(signal: AbortSignal): ClassedError {
  const reason: unknown = signal.reason;
  if (reason instanceof ClassedError) return reason;
  if (reason instanceof Error && reason.name === 'TimeoutError')
    return new ClassedError('timeout', 'The tool did not finish within its time limit.', { cause: reason });
  return new ClassedError('cancelled', 'The call was cancelled.', { cause: reason });
}
