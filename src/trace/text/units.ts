/** Figures for people. */

/** `12 ms`, `42.1 s`, `3 min 5 s`, `2 h 10 min`. */
export function durationText(ms: number): string {
  if (ms < 999.5) return `${ms < 9.95 && ms % 1 !== 0 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** `812`, `18.2k`, `3.4M`. */
export function amountText(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_950) return `${(count / 1000).toFixed(1)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** `0`, `0.5`, `0.333`. */
export function scoreText(value: number | null): string {
  return value === null ? 'unscorable' : String(Number(value.toFixed(3)));
}

export { plural } from '../../common/plural.ts';
