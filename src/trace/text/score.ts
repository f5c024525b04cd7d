/** Formats a score: `0`, `0.5`, `0.333`. */
export function scoreText(value: number | null): string {
  return value === null ? 'unscorable' : String(Number(value.toFixed(3)));
}
