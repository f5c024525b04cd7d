/** Formats times for people. */

/** Formats the time of day. */
export function clock(at: number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Formats a relative time: `3 min ago`. */
export function ago(at: number, now = Date.now()): string {
  const ms = Math.max(0, now - at);
  if (ms < 60_000) return 'just now';
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ago`;
  return `${Math.floor(ms / 86_400_000)} d ago`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
