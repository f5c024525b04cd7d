/** The breakpoint that holds a batch launched by a debugger until the debugger is ready. */
import type { Breakpoint } from './commands.ts';

/** Prefix of the IDs of breakpoints of debuggers. */
export const DEBUGGER = 'debug:';

/** Holds the first rollout of a batch that reaches a call. */
export const ENTRY: Breakpoint = {
  id: `${DEBUGGER}entry`,
  side: 'before',
  when: 'event.kind in ["model.start", "tool.start"]',
  once: true,
};
