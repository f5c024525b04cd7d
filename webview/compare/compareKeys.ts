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
      { keys: 'V', does: 'two attempts' },
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
  /** Switches to two attempts. */
  readonly two: () => void;
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
    v: does.two,
    '?': does.keys,
  };
}

/** The keys of the view with two attempts. */
export const TWO_KEYS: readonly KeyGroup[] = [
  {
    title: 'Move',
    keys: [
      { keys: 'J / K', does: 'next, previous row' },
      { keys: 'D / Shift+D', does: 'next, previous difference' },
      { keys: 'H / L', does: 'left, right attempt' },
      { keys: 'Home / End', does: 'first, last row' },
      { keys: 'X', does: 'expand or collapse equal steps' },
      { keys: 'Shift+X', does: 'expand or collapse all' },
    ],
  },
  {
    title: 'Outcome flow',
    keys: [
      { keys: 'Arrows', does: 'move between boxes' },
      { keys: 'Enter', does: 'go to the step of the box' },
      { keys: 'Shift+Enter', does: 'compare with its nearest attempt' },
    ],
  },
  {
    title: 'Attempt',
    keys: [
      { keys: '[ / ]', does: 'previous, next attempt on this side' },
      { keys: 'Enter', does: 'open at this step' },
      { keys: 'Ctrl+Enter', does: 'open to the side' },
      { keys: 'Y', does: 'copy the reference' },
    ],
  },
  {
    title: 'Page',
    keys: [
      { keys: 'V', does: 'all attempts as columns' },
      { keys: 'O', does: 'open the batch' },
      { keys: '?', does: 'show keys' },
    ],
  },
];

interface TwoDoes {
  readonly row: (distance: number) => void;
  /** −1: the first row, 1: the last row. */
  readonly end: (direction: 1 | -1) => void;
  readonly side: (side: 'left' | 'right') => void;
  readonly attempt: (distance: 1 | -1) => void;
  readonly difference: (direction: 1 | -1) => void;
  readonly toggle: () => void;
  readonly toggleAll: () => void;
  readonly open: (beside: boolean) => void;
  readonly copy: () => void;
  readonly batch: () => void;
  readonly all: () => void;
  readonly keys: () => void;
}

export function twoBindings(does: TwoDoes): Bindings {
  return {
    j: () => does.row(1),
    k: () => does.row(-1),
    ArrowDown: () => does.row(1),
    ArrowUp: () => does.row(-1),
    h: () => does.side('left'),
    l: () => does.side('right'),
    ArrowLeft: () => does.side('left'),
    ArrowRight: () => does.side('right'),
    d: () => does.difference(1),
    'shift+d': () => does.difference(-1),
    Home: () => does.end(-1),
    End: () => does.end(1),
    '[': () => does.attempt(-1),
    ']': () => does.attempt(1),
    x: does.toggle,
    'shift+x': does.toggleAll,
    Enter: () => does.open(false),
    'mod+Enter': () => does.open(true),
    y: does.copy,
    o: does.batch,
    v: does.all,
    '?': does.keys,
  };
}
