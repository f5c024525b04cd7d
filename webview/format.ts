/** Numbers as people read them. English everywhere, so that two windows say the same. */

/** `12,345`. By hand: a page would wait longer for `Intl` than for anything else it loads. */
export function count(value: number): string {
  return String(Math.round(value)).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `18.2k`, `4.1M`, `1.5T`. */
export function compact(value: number): string {
  const size = Math.abs(value);
  if (size < 1_000) return String(Math.round(value));
  const [unit, divisor] =
    size < 999_950
      ? (['k', 1e3] as const)
      : size < 999_950_000
        ? (['M', 1e6] as const)
        : size < 999_950_000_000
          ? (['G', 1e9] as const)
          : (['T', 1e12] as const);
  const scaled = value / divisor;
  return `${Math.abs(scaled) < 99.95 ? scaled.toFixed(1) : Math.round(scaled)}${unit}`;
}

/** `0.31` as `31 %`. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** `12 ms`, `8.0 s`, `3:05 min`, `2:10 h`. */
export function duration(ms: number): string {
  if (ms < 999.5) return `${ms < 9.95 && ms > 0 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)} min`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)} h`;
}

/** `418 B`, `64 kB`, `20.0 MB`. */
export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  return value < 999_500 ? `${Math.round(value / 1e3)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}

/** Time of day. */
export function clock(at: number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** `3 min ago`. */
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
