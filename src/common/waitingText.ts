/** Puts into words why batches wait. */
import type { SharesReply, WaitingBatch } from '../protocol/shares.ts';

/** Returns e.g. `2nd of 3 · queue research is at its limit`. */
export function waitingText({ position, of, text }: WaitingBatch): string {
  return `${ordinal(position)} of ${of} · ${text.replace(/\.$/, '')}`;
}

/** Returns why a batch waits, if it does. */
export function waitingOf(shares: SharesReply | undefined, batch: string): WaitingBatch | undefined {
  return shares?.waiting.find((waiting) => waiting.batch === batch);
}

/** Returns `1st`, `2nd`, `3rd`, `4th`, …, `11th`, … */
export function ordinal(number: number): string {
  const [tens, ones] = [number % 100, number % 10];
  const ending = tens >= 11 && tens <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][ones] ?? 'th');
  return `${number}${ending}`;
}
