/** The keys of the trajectory page: their descriptions and bindings. */

import type { KeyGroup } from '../components/overlays/keysOverlay.tsx';
import type { Bindings } from '../keys.ts';
import { predictSelected } from './detail/prediction/predict.ts';
import { label } from './label.ts';
import type { TrajectorySession } from './session.ts';
import { TABS } from './view.ts';

export const TRAJECTORY_KEYS: readonly KeyGroup[] = [
  {
    title: 'Move',
    keys: [
      { keys: 'J / K', does: 'next, previous row' },
      { keys: 'Shift+J / Shift+K', does: 'next, previous step' },
      { keys: 'L / H', does: 'into, out of a step; expand, collapse checks' },
      { keys: '→ / ←', does: 'expand, collapse group' },
      { keys: 'Home / End', does: 'first, last' },
      { keys: '[ / ]', does: 'previous, next attempt' },
      { keys: 'Alt+← / Alt+→', does: 'back, forward' },
    ],
  },
  {
    title: 'Find',
    keys: [
      { keys: 'E / Shift+E', does: 'next, previous error or failed check' },
      { keys: 'D / Shift+D', does: 'divergence from a passed attempt, then later differences' },
      { keys: 'T', does: 'next call of this tool' },
      { keys: 'Shift+T', does: 'next call that differs from the previous one of its tool' },
      { keys: '/', does: 'search, Enter for the next match' },
      { keys: 'F3 / Shift+F3', does: 'next, previous match' },
    ],
  },
  {
    title: 'Look',
    keys: [
      { keys: '1 … 6', does: 'tabs, from left to right' },
      { keys: '0 / Z', does: 'whole rollout, this step' },
      { keys: 'V', does: 'steps, transcript' },
      { keys: 'X', does: 'open, close a message of the transcript' },
      { keys: '.', does: 'follow the running rollout' },
    ],
  },
  {
    title: 'Debug',
    keys: [
      { keys: 'B / Shift+B', does: 'breakpoint, conditional breakpoint' },
      { keys: 'A', does: 'edit the selection' },
      { keys: 'F', does: 'fork from here' },
      { keys: 'W / Shift+W', does: 'predict the call with a simulated world, with another one' },
      { keys: 'P / R / S', does: 'pause, resume, step' },
    ],
  },
  {
    title: 'Keep',
    keys: [
      { keys: 'M', does: 'bookmark' },
      { keys: 'N', does: 'note' },
      { keys: '+ / −', does: 'label: passed, failed' },
      { keys: 'Y', does: 'copy: reference, link, Markdown, cURL, messages' },
      { keys: 'C', does: 'compare all attempts of the task' },
      { keys: 'O', does: 'open the batch' },
      { keys: '?', does: 'show keys' },
    ],
  },
];

export interface PageDoes {
  readonly attempt: (distance: 1 | -1) => void;
  readonly search: () => void;
  readonly keys: () => void;
  readonly bookmark: () => void;
  readonly note: () => void;
  /** Opens the menu of what can be copied. */
  readonly copy: () => void;
  /** A getter: each render of the page has another one. */
  readonly axis: { readonly current: { whole(): void; step(): void } | null };
}

export function trajectoryBindings(session: TrajectorySession, page: PageDoes): Bindings {
  const tabs = Object.fromEntries(
    TABS.map((_, index): [string, () => void] => [String(index + 1), () => session.showTab(index)]),
  );
  return {
    ...tabs,
    j: () => session.moves.row(1),
    k: () => session.moves.row(-1),
    ArrowDown: () => session.moves.row(1),
    ArrowUp: () => session.moves.row(-1),
    'shift+j': () => session.moves.step(1),
    'shift+k': () => session.moves.step(-1),
    l: session.moves.into,
    h: session.moves.out,
    Home: () => session.moves.end('first'),
    End: () => session.moves.end('last'),
    e: () => session.moves.failure(1),
    'shift+e': () => session.moves.failure(-1),
    d: () => session.moves.difference(1),
    'shift+d': () => session.moves.difference(-1),
    t: session.moves.sameTool,
    'shift+t': session.moves.changedCall,
    '[': () => page.attempt(-1),
    ']': () => page.attempt(1),
    'alt+ArrowLeft': () => session.back(),
    'alt+ArrowRight': () => session.forward(),
    '0': () => page.axis.current?.whole(),
    z: () => page.axis.current?.step(),
    '.': () => session.follow(!session.following),
    v: () => session.read(!session.reading),
    b: () => session.debug.toggleBreakpoint(),
    'shift+b': () => session.debug.openBox(!session.debug.boxOpen),
    a: () => session.debug.editSelected(),
    f: () => session.debug.forkSelected(),
    w: () => predictSelected(session, 'predict'),
    'shift+w': () => predictSelected(session, 'choose'),
    p: () => session.debug.command('hold'),
    r: () => session.debug.command('release'),
    s: () => session.debug.command('step'),
    '/': page.search,
    'mod+f': page.search,
    '?': page.keys,
    m: page.bookmark,
    n: page.note,
    y: page.copy,
    '+': () => label(session, true),
    '-': () => label(session, false),
    c: () => session.compare(),
    o: () => {
      const batch = session.data.info?.row.batch;
      if (batch !== undefined) session.act({ do: 'open', place: { page: 'batch', batch } });
    },
    ...(session.reading ? session.transcript.keys : {}),
  };
}
