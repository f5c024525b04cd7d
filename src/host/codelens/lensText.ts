/** Builds the texts of CodeLenses. Does not depend on VS Code. */

import type { BatchRow } from '../../protocol/client.ts';
import { batchProgress } from '../batches/batchText.ts';
import { agoText, passRateText } from '../views/batches/batchNodes.ts';

/** Separates an icon from its text, because VS Code drops an ordinary space there. */
export const NBSP = '\u00a0';

/** Returns e.g. `Last: pass@1 0.44, 2 h ago`. */
export function lastText(row: BatchRow, now: number): string {
  const { done, all } = batchProgress(row);
  if (row.state !== 'ended')
    return row.state === 'paused'
      ? `$(debug-pause)${NBSP}Paused: ${done}/${all}`
      : `$(loading~spin)${NBSP}Running: ${done}/${all}`;
  const rate = passRateText(row);
  return `Last: ${rate === '' ? 'nothing scored' : rate}, ${agoText(now - row.created_at)}`;
}

export function usedByText(batches: number): string {
  return batches === 1 ? `$(play)${NBSP}Used by 1 batch: Launch…` : `$(play)${NBSP}Used by ${batches} batches: Launch…`;
}
