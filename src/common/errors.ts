/**
 * The one error type of the product.
 *
 * `message` says what happened; `hint` says what to do next. Both are shown to people as they are,
 * so neither may hold a secret. `details` is for programs.
 */
export const ERROR_CODES = [
  'usage', // the call itself is wrong
  'config', // a file that a user wrote is wrong
  'not_found',
  'conflict', // illegal transition, `expect` differs, already exists
  'gone', // cursor past the end, deleted stream
  'unauthorized',
  'forbidden',
  'too_large',
  'unsupported', // known, but not available here or not yet
  'version', // a store, protocol, or file of a newer version
  'unavailable', // another process does not answer
  'storage', // disk full, database broken
  'fenced', // an older epoch wrote
  'cancelled',
  'internal',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** Returns the code that another process sent, or `fallback` for one that this version does not know. */
export function errorCodeOf(code: string, fallback: ErrorCode = 'internal'): ErrorCode {
  return ERROR_CODES.find((known) => known === code) ?? fallback;
}

export interface StudioErrorOptions {
  readonly hint?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export class StudioError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, options: StudioErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'StudioError';
    this.code = code;
    this.hint = options.hint;
    this.details = options.details;
  }

  /** Whether `value` is a StudioError, of `code` if one is given. */
  static is(value: unknown, code?: ErrorCode): value is StudioError {
    return value instanceof StudioError && (code === undefined || value.code === code);
  }
}

/** The text of anything that was thrown, for people: message and hint, never a stack. */
export function errorText(thrown: unknown): string {
  if (StudioError.is(thrown)) return thrown.hint === undefined ? thrown.message : `${thrown.message} ${thrown.hint}`;
  if (thrown instanceof Error) return thrown.message;
  return String(thrown);
}

/** The process exit code an error stands for (DESIGN: 2 call or file wrong, 3 infrastructure, 130 interrupted). */
export function exitCodeOf(thrown: unknown): 2 | 3 | 130 {
  if (!StudioError.is(thrown)) return 3;
  switch (thrown.code) {
    case 'usage':
    case 'config':
    case 'not_found':
    case 'conflict':
    case 'gone':
    case 'unsupported':
    case 'version':
    case 'too_large':
      return 2;
    case 'cancelled':
      return 130;
    default:
      return 3;
  }
}
