/** min / median / max of several runs, and aligned tables. */
export { table } from '../../../src/client/text/table.ts';

export function spread(values: readonly number[], digits = 2): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (index: number): string => (sorted[index] ?? Number.NaN).toFixed(digits);
  return `${at(0)} / ${at(Math.floor(sorted.length / 2))} / ${at(sorted.length - 1)}`;
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** The number of rounds from the environment (`ROUNDS=5 npm run bench …`), else the default. */
export function rounds(otherwise: number): number {
  const count = Number(process.env['ROUNDS']);
  return Number.isInteger(count) && count > 0 ? count : otherwise;
}
