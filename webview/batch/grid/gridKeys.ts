/** The commands of the grid's keys. */
import type { Step } from '../model/move.ts';

type GridKey =
  | { readonly does: 'move'; readonly step: Step }
  | { readonly does: 'open'; readonly beside: boolean }
  | { readonly does: 'keep' }
  | { readonly does: 'close' };

const MOVES: Readonly<Record<string, Step>> = {
  ArrowUp: 'up',
  ArrowDown: 'down',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  Home: 'home',
  End: 'end',
  PageUp: 'pageUp',
  PageDown: 'pageDown',
};

/** Returns undefined for other keys. */
export function gridKey(
  event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>,
): GridKey | undefined {
  const command = event.ctrlKey || event.metaKey;
  if (event.key === 'Enter') return { does: 'open', beside: command || event.altKey };
  if (event.altKey || event.shiftKey) return undefined;
  if (command) {
    if (event.key === 'Home' || event.key === 'ArrowUp') return { does: 'move', step: 'first' };
    if (event.key === 'End' || event.key === 'ArrowDown') return { does: 'move', step: 'last' };
    return undefined;
  }
  if (event.key === ' ') return { does: 'keep' };
  if (event.key === 'Escape') return { does: 'close' };
  const step = MOVES[event.key];
  return step === undefined ? undefined : { does: 'move', step };
}
