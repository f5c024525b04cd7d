/** The breakpoint that holds what a debugger launched until the debugger is ready. */
import type { Breakpoint } from './commands.ts';

/** Ids of breakpoints of debuggers begin with this. */
export const DEBUGGER = 'debug:';

/** Holds the first rollout of a batch that comes to a call. */
export const ENTRY: Breakpoint = {
  id: `${DEBUGGER}entry`,
  side: 'before',
  when: 'event.kind in ["model.start", "tool.start"]',
  once: true,
};
