/** The shared state of the trajectory page: trajectory, cursor, and tab. */
import type { Listen } from '../../src/common/emitter.ts';
import type { PageVerb } from '../../src/protocol/page.ts';
import type { TrajectoryData } from '../data/trajectoryData.ts';
import type { Host } from '../host/host.ts';
import type { PageDebug } from './debug/pageDebug.ts';

export const TABS = ['call', 'messages', 'world', 'tokens', 'timing', 'raw'] as const;
/** Of a score or a check: Check, World, Answer, Raw. */
export const SCORE_TABS: readonly Tab[] = ['call', 'world', 'messages', 'raw'];
export type Tab = (typeof TABS)[number];

export interface TrajectoryView {
  readonly host: Host;
  readonly readOnly: boolean;
  /** Actions that the host supports. */
  readonly can: ReadonlySet<PageVerb>;
  readonly data: TrajectoryData;
  /** Seq of the selected message or start; 0 for none. */
  readonly seq: number;
  /** Index of the selected check, if `seq` is a score; undefined for the score itself. */
  readonly check: number | undefined;
  /** The previous cursor: changes since then are marked. 0 for none. */
  readonly before: number;
  readonly tab: Tab;
  /** Whether the cursor follows the head of a running trajectory. */
  readonly following: boolean;
  readonly debug: PageDebug;
  /** Fired after the cursor, the tab, or `following` changed. */
  readonly changed: Listen<undefined>;
  /** Selects a message or a start; for another seq, selects what contains it. Stops following. */
  go(seq: number, check?: number): void;
  show(tab: Tab): void;
  follow(on: boolean): void;
  /** Runs an action of the host. Shows a notice if it fails. */
  act(action: Parameters<Host['act']>[0]): void;
  /** Shows a short notice, such as “Copied”. */
  say(text: string): void;
}
