/**
 * Formats numbers for people, consistently in the pages, the views, and the command line. Does not use `Intl`:
 * initializing it would delay a page more than anything else it loads.
 */

/** Formats a number: `12,345`. */
export function count(value: number): string {
  return String(Math.round(value)).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** Formats a number briefly: `950`, `18.2k`, `4.1M`, `1.5T`. */
export function compact(value: number): string {
  const size = Math.abs(value);
  if (size < 1000) return String(Math.round(value));
  const [unit, divisor] =
    size < 999_500
      ? (['k', 1e3] as const)
      : size < 999_500_000
        ? (['M', 1e6] as const)
        : size < 999_500_000_000
          ? (['G', 1e9] as const)
          : (['T', 1e12] as const);
  return `${threeDigits(value / divisor)}${unit}`;
}

/** Formats a share from 0 to 1: `0.314` as `31%`. */
export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

/** Formats a cost: `0.0042`, `0.52`, `1,250`. */
export function costText(cost: number): string {
  if (cost >= 1000) return count(cost);
  return cost > 0 && cost < 0.1 ? String(Number(cost.toPrecision(2))) : cost.toFixed(2);
}

/** Formats milliseconds: `1.2 ms`, `12 ms`, `42.1 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(ms: number): string {
  if (ms < 999.5) return `${ms < 9.95 && !Number.isInteger(ms) ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Formats a time in the local time zone: `14:05`, or `2026-11-25 14:05` if `now` is on another day. */
export function timeOfDay(at: number, now: number): string {
  const [date, today] = [new Date(at), new Date(now)];
  const pad = (value: number): string => String(value).padStart(2, '0');
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
  return date.toDateString() === today.toDateString()
    ? time
    : `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${time}`;
}

/** Formats bytes: `418 B`, `4.2 kB`, `127 MB`, `1.3 GB`; 1 kB is 1,000 bytes. */
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  if (value < 999_500) return `${threeDigits(value / 1e3)} kB`;
  return value < 999_500_000 ? `${threeDigits(value / 1e6)} MB` : `${threeDigits(value / 1e9)} GB`;
}

/** One decimal below 100. */
function threeDigits(value: number): string {
  return Math.abs(value) < 99.95 ? value.toFixed(1) : String(Math.round(value));
}
