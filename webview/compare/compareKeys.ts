/** The keys of the compare page: their descriptions and bindings. */
import type { KeyGroup } from '../components/overlays/keysOverlay.tsx';
import type { Bindings } from '../keys.ts';

export const COMPARE_KEYS: readonly KeyGroup[] = [
  {
    title: 'Move',
    keys: [
      { keys: 'J / K', does: 'next, previous row' },
      { keys: 'H / L', does: 'previous, next attempt' },
      { keys: 'D / Shift+D', does: 'next, previous difference' },
      { keys: 'Home / End', does: 'first, last row' },
      { keys: '[ / ]', does: 'previous, next branch' },
    ],
  },
  {
    title: 'Attempt',
    keys: [
      { keys: 'Enter', does: 'open at this step' },
      { keys: 'Ctrl+Enter', does: 'open to the side' },
      { keys: 'Y', does: 'copy the reference' },
    ],
  },
  {
    title: 'Page',
    keys: [
      { keys: 'O', does: 'open the batch' },
      { keys: '?', does: 'show keys' },
    ],
  },
];

/** The actions of the keys. */
interface CompareDoes {
  readonly row: (distance: number) => void;
  /** −1: the first row, 1: the last row. */
  readonly end: (direction: 1 | -1) => void;
  readonly column: (distance: number) => void;
  readonly branch: (distance: number) => void;
  readonly difference: (direction: 1 | -1) => void;
  readonly open: (beside: boolean) => void;
  readonly copy: () => void;
  readonly batch: () => void;
  readonly keys: () => void;
}

export function compareBindings(does: CompareDoes): Bindings {
  return {
    j: () => does.row(1),
    k: () => does.row(-1),
    ArrowDown: () => does.row(1),
    ArrowUp: () => does.row(-1),
    h: () => does.column(-1),
    l: () => does.column(1),
    ArrowLeft: () => does.column(-1),
    ArrowRight: () => does.column(1),
    d: () => does.difference(1),
    'shift+d': () => does.difference(-1),
    Home: () => does.end(-1),
    End: () => does.end(1),
    '[': () => does.branch(-1),
    ']': () => does.branch(1),
    Enter: () => does.open(false),
    'mod+Enter': () => does.open(true),
    y: does.copy,
    o: does.batch,
    '?': does.keys,
  };
}
