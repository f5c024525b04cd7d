/** Who holds a rollout, and until when: the same words in every view. */
import { timeOfDay } from '../common/units.ts';
import type { EventData, EventOf } from './schema.ts';
import type { HoldSummary, RolloutRow } from './summary.ts';
import { holdLabel } from './text/labels.ts';

/** Returns a hold as rows list it. */
export function holdSummary({ seq, at, data }: EventOf<'hold'>): HoldSummary {
  const { why, side, breakpoint, by, limit_ms: limit } = data;
  return {
    why,
    side,
    seq,
    ...(breakpoint === undefined ? {} : { breakpoint }),
    ...(by === undefined ? {} : { by }),
    since: at,
    ...(limit === undefined ? {} : { until: at + limit }),
  };
}

/** Returns whether a hold is that of a paused batch: it ends when the batch is resumed, and no command asked for it. */
export function isOfBatch({ why, command }: EventData['hold']): boolean {
  return why === 'pause' && command === undefined;
}

/**
 * Returns the current hold of a rollout. One whose worker was lost is queued, not held: the next worker holds it again.
 */
export function holdOf({ state, progress }: Pick<RolloutRow, 'state' | 'progress'>): HoldSummary | undefined {
  return state === 'held' ? progress.hold : undefined;
}

/** The names that clients send with their commands, as people know them. */
const CLIENTS: Readonly<Record<string, string>> = {
  page: 'a person on the page',
  vscode: 'a person in VS Code',
  rollout: 'the command line',
  'rollout mcp': 'an MCP client',
  debugger: 'a debugger',
  client: 'a client',
};

/** Debuggers name the program in which they run: `debugger in VS Code`. */
const DEBUGGER_IN = 'debugger in ';

/**
 * Returns e.g. `held by the debugger in VS Code (breakpoint), until 14:05`. Without a name, it says what the rollout
 * waits for.
 */
export function heldText(hold: HoldSummary, now: number): string {
  const until = hold.until === undefined ? '' : `, until ${timeOfDay(hold.until, now)}`;
  const holder = holderOf(hold);
  if (holder === undefined) return `${WAITS[hold.why] ?? holdLabel(hold.why)}${until}`;
  return `held by ${holder}${hold.why === 'pause' ? '' : ` (${holdLabel(hold.why)})`}${until}`;
}

/** Returns who holds it; undefined if nobody does, because it waits for something else. */
export function holderOf({ why, by, breakpoint }: Pick<HoldSummary, 'why' | 'by' | 'breakpoint'>): string | undefined {
  if (why === 'input' || why === 'lost_server') return undefined;
  if (by?.startsWith(DEBUGGER_IN) === true) return `the ${by}`;
  if (by !== undefined) return CLIENTS[by] ?? by;
  // Recorded before holds had names.
  if (breakpoint?.startsWith('debug:') === true) return 'a debugger';
  return undefined;
}

const WAITS: Readonly<Record<string, string>> = {
  breakpoint: 'held at a breakpoint',
  pause: 'held with its batch',
  step: 'held after a step',
  input: 'waiting for an answer',
  lost_server: 'waiting for its server',
};
