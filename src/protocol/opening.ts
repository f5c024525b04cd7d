/**
 * The first frames of a subscription, in a separate module: a page sends them before the rest of its program is loaded.
 */
import type { DebuggerClaim } from './client.ts';
import { PROTOCOL } from './version.ts';

export interface Opening {
  /** ID of a rollout or a batch. */
  readonly stream: string;
  readonly after?: number;
  readonly afterRev?: number;
  readonly deltas?: boolean;
  /** For a debugger: what the server does if the connection is lost. */
  readonly debugger?: DebuggerClaim;
}

/** The only subscription of a connection. */
export const SUB = '1';

/** Returns the first frames of a connection, in order. */
export function openingFrames({ stream, after = 0, afterRev = 0, deltas = false, debugger: claim }: Opening): string[] {
  return [
    { type: 'hello', protocol: PROTOCOL, rights: true },
    // JSON leaves an undefined claim out.
    { type: 'subscribe', sub: SUB, stream, after, after_rev: afterRev, deltas, debugger: claim },
  ].map((frame) => JSON.stringify(frame));
}
