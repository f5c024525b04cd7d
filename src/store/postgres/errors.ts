import { StudioError } from '../../common/errors.ts';
import { RESTORE } from '../sql/row.ts';

const LOST = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  '57P01',
  '57P02',
  '57P03',
  '53300',
]);
/** Messages that node-postgres throws without a code. */
const LOST_TEXT = new RegExp(
  [
    'connection terminated',
    'timeout exceeded when trying to connect',
    'client has encountered a connection error',
    'client was closed',
  ].join('|'),
  'i',
);

function codeOf(thrown: unknown): string | undefined {
  const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Returns whether to retry: the connection broke, or the database is starting or stopping. */
export function isLost(thrown: unknown): boolean {
  const code = codeOf(thrown);
  if (code !== undefined) return LOST.has(code) || code.startsWith('08');
  // All addresses of the host failed.
  if (thrown instanceof AggregateError) return thrown.errors.some(isLost);
  return thrown instanceof Error && LOST_TEXT.test(thrown.message);
}

/** Returns whether the database does not know a transaction ID that it once assigned: a crash took it back. */
export function isUnknownTransaction(thrown: unknown): boolean {
  return codeOf(thrown) === '22023';
}

/** Returns whether a transaction conflicted with another one, so that a retry can succeed. */
export function isCollision(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return code === '40P01' || code === '40001';
}

/**
 * Converts errors of PostgreSQL to errors for people. `details.full` marks a full disk. Returns other errors unchanged.
 */
export function postgresError(thrown: unknown, name: string): unknown {
  if (!(thrown instanceof Error) || StudioError.is(thrown)) return thrown;
  const cause = thrown;
  if (isLost(thrown)) {
    return new StudioError('storage', `Cannot reach the database ${name}: ${textOf(thrown)}.`, {
      hint: 'Check that it is running and reachable from here. Work then continues automatically.',
      cause,
    });
  }
  const code = codeOf(thrown);
  switch (code) {
    case '53100':
      return new StudioError('storage', `The disk of the database ${name} is full. No recorded data is lost.`, {
        hint: 'Free some disk space. Work then continues automatically.',
        details: { full: true },
        cause,
      });
    case '28P01':
    case '28000':
      return new StudioError('storage', `The database ${name} rejected the user or the password.`, {
        hint: 'Check the user and password in the URL of the store.',
        cause,
      });
    case '3D000':
      return new StudioError('storage', `The database ${name} does not exist.`, {
        hint: 'Create it with `createdb`, or use another one.',
        cause,
      });
    case '42501':
      return new StudioError('storage', `The user is not allowed to use the database ${name}: ${thrown.message}.`, {
        hint: 'Grant the user the right to create a schema in it.',
        cause,
      });
    case 'ENOTFOUND':
      return new StudioError('storage', `Cannot resolve the host of ${name}.`, {
        hint: 'Check the host name in the URL of the store.',
        cause,
      });
    case 'XX001':
    case 'XX002':
      return new StudioError('storage', `The database ${name} is damaged: ${thrown.message}.`, {
        hint: RESTORE,
        cause,
      });
    default:
      // A code of five characters comes from PostgreSQL. Any other error is a bug.
      return code !== undefined && /^[0-9A-Z]{5}$/.test(code)
        ? new StudioError('storage', `The database ${name} failed: ${thrown.message}.`, { cause })
        : thrown;
  }
}

function textOf(error: Error): string {
  if (error.message !== '') return error.message;
  return error instanceof AggregateError ? error.errors.map(String).join('; ') : (codeOf(error) ?? error.name);
}
