/** Why an operation on a module's thread failed. */
import type { Thrown } from './protocol.ts';

/** User code threw an error, or its arguments or result are invalid. */
export class UserError extends Error {
  readonly thrown: Thrown;
  /** JSON of the changes that the world reported before the error. */
  readonly changes: string | undefined;
  /** Code of a shortage that caused it. */
  readonly code: string | undefined;
  constructor(thrown: Thrown, changes?: string) {
    super(thrown.message);
    this.code = thrown.shortage;
    this.thrown = thrown;
    this.changes = changes;
  }
}

/** The thread ended during an operation. */
export class ThreadLost extends Error {
  /** Whether this operation caused the end, and not another one on the same thread. */
  readonly guilty: boolean;
  /** Stack in the thread that caused the end. */
  readonly threadStack: string | undefined;
  constructor(message: string, guilty: boolean, threadStack?: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.guilty = guilty;
    this.threadStack = threadStack;
  }
}

/** The signal of the operation was aborted. */
export class AbortedCall extends Error {}
