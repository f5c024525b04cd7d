import type { ErrorCode } from '../common/errors.ts';

/** The HTTP status of each error. */
export const HTTP_STATUS: Readonly<Record<ErrorCode, number>> = {
  usage: 400,
  config: 400,
  version: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  fenced: 409,
  cancelled: 409,
  gone: 410,
  too_large: 413,
  internal: 500,
  unsupported: 501,
  unavailable: 503,
  storage: 507,
};
