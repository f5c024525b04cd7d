/**
 * Parses `Retry-After` (RFC 9110, 10.2.3): seconds, or an HTTP date. Returns milliseconds from `now`; undefined if it
 * has no valid value.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
