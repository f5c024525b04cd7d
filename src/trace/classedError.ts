import type { Json } from '../common/json.ts';
import type { Change, ErrorClass, LimitKind, Place, RecordedPlace, TraceError } from './schema.ts';

interface RecordedFailure {
  readonly place: RecordedPlace;
  readonly response: Json;
}

/** A failed effect of a rollout, with its error class. Thrown by models, tools, and worlds. */
export class ClassedError extends Error {
  readonly class: ErrorClass;
  readonly place: Place | undefined;
  /** The stack of user code, mapped to the user's sources, without frames of the product. */
  readonly userStack: string | undefined;
  /** Changes by a world's tool before it failed, if the world reports changes. */
  readonly changes: readonly Change[] | undefined;
  /** Of class `limit`: which one was reached. */
  readonly limit: LimitKind | undefined;
  /** The world failed, and did not merely refuse a call. */
  readonly blame: TraceError['blame'];
  /** Of a tool call: it ends the rollout, because nobody can say what the agent would have seen. */
  readonly fatal: boolean;
  /** Of a tool call: it failed so in a recording, and this is what the agent saw. */
  readonly recorded: RecordedFailure | undefined;

  constructor(
    errorClass: ErrorClass,
    message: string,
    options: {
      cause?: unknown;
      place?: Place | undefined;
      stack?: string | undefined;
      changes?: readonly Change[] | undefined;
      limit?: LimitKind | undefined;
      blame?: TraceError['blame'];
      fatal?: boolean;
      recorded?: RecordedFailure;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ClassedError';
    this.class = errorClass;
    this.place = options.place;
    this.userStack = options.stack;
    this.changes = options.changes;
    this.limit = options.limit;
    this.blame = options.blame;
    this.fatal = options.fatal ?? false;
    this.recorded = options.recorded;
  }

  /** Returns what the agent sees of a failed tool call. */
  toResponse(): Json {
    return this.recorded?.response ?? `Error (${this.class}): ${this.message}`;
  }

  toTrace(): TraceError {
    return {
      class: this.class,
      message: this.message,
      ...(this.limit === undefined ? {} : { limit: this.limit }),
      ...(this.userStack === undefined ? {} : { stack: this.userStack }),
      ...(this.place === undefined ? {} : { place: this.place }),
      ...(this.blame === undefined ? {} : { blame: this.blame }),
    };
  }

  /** Converts a thrown value to a ClassedError. `fallback`: the class if it has none. */
  static from(thrown: unknown, fallback: ErrorClass): ClassedError {
    if (thrown instanceof ClassedError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new ClassedError(fallback, message, { cause: thrown });
  }
}
