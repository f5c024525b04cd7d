/**
 * The error type of the product.
 *
 * `message` says what happened; `hint` says what to do next. Both are shown to people unchanged, so neither may contain
 * a secret. `details` is for programs.
 */
export const ERROR_CODES = [
  'usage', // the call itself is invalid
  'config', // a file written by the user is invalid
  'not_found',
  'conflict', // illegal transition, `expect` differs, already exists
  'gone', // cursor past the end, deleted stream
  'unauthorized',
  'forbidden',
  'too_large',
  'unsupported', // cannot be done here, or with this file or rollout
  'version', // a store, protocol, or file of a newer version
  'unavailable', // another process does not respond
  'storage', // disk full, database broken
  'fenced', // an older epoch wrote
  'cancelled',
  'internal',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** Returns the code sent by another process, or `fallback` if this version does not know it. */
export function errorCodeOf(code: string, fallback: ErrorCode = 'internal'): ErrorCode {
  return ERROR_CODES.find((candidate) => candidate === code) ?? fallback;
}

interface StudioErrorOptions {
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

  /** Returns whether `value` is a StudioError, with this code if set. */
  static is(value: unknown, code?: ErrorCode): value is StudioError {
    return value instanceof StudioError && (code === undefined || value.code === code);
  }
}

/** Returns the code of a system error, such as `ENOENT`. */
export function systemCodeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}

/** Returns whether a system error means that a file does not exist. */
export function isMissing(thrown: unknown): boolean {
  const code = systemCodeOf(thrown);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Returns the text of any thrown value for people: message and hint, never a stack. */
export function errorText(thrown: unknown): string {
  if (StudioError.is(thrown)) {
    // After quoted output, the hint would read like a part of it.
    const separator = thrown.message.includes('\n') ? '\n' : ' ';
    return thrown.hint === undefined ? thrown.message : `${thrown.message}${separator}${thrown.hint}`;
  }
  if (thrown instanceof Error) return thrown.message;
  return String(thrown);
}

/** Returns the exit code for an error (2 invalid call or file, 3 infrastructure, 130 interrupted). */
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
