import { ClassedError } from '../trace/classedError.ts';

/** The error of a call whose signal aborted: its reason when that has a class, else `timeout` or `cancelled`. */
export function abortedError(signal: AbortSignal): ClassedError {
  const reason: unknown = signal.reason;
  if (reason instanceof ClassedError) return reason;
  if (reason instanceof Error && reason.name === 'TimeoutError')
    return new ClassedError('timeout', 'The tool did not end within its time limit.', { cause: reason });
  return new ClassedError('cancelled', 'The call was cancelled.', { cause: reason });
}
