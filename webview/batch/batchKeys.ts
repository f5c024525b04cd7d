/** The keys of the batch page, for the overlay that lists them. */
export const BATCH_KEYS = [
  {
    title: 'Move',
    keys: [
      { keys: '← ↑ ↓ →', does: 'next attempt, next task' },
      { keys: 'Home / End', does: 'first, last attempt of the task' },
      { keys: 'Ctrl+Home / Ctrl+End', does: 'first, last of all' },
      { keys: 'PageUp / PageDown', does: 'a page of tasks' },
      { keys: 'N / Shift+N', does: 'next, previous not passed; among groups: without signal' },
    ],
  },
  {
    title: 'Attempt',
    keys: [
      { keys: 'Enter', does: 'open' },
      { keys: 'Ctrl+Enter', does: 'open to the side' },
      { keys: 'Space', does: 'pin in the detail pane' },
      { keys: 'C', does: 'compare all attempts of the task' },
      { keys: 'F', does: 'fork' },
      { keys: 'Y', does: 'copy link' },
    ],
  },
  {
    title: 'Page',
    keys: [
      { keys: '/', does: 'filter' },
      { keys: 'V', does: 'groups with advantages, or attempts' },
      { keys: 'I', does: 'detail pane' },
      { keys: 'Shift+C', does: 'compare with another batch' },
      { keys: 'Click', does: 'an outcome: show only it, then all' },
      { keys: 'Ctrl+Click', does: 'an outcome: show or hide it' },
      { keys: '?', does: 'all keys' },
    ],
  },
] as const;
