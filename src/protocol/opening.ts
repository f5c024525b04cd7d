/**
 * The first frames of a subscription, in a separate module: a page sends them before the rest of its program is loaded.
 */
import { PROTOCOL } from './version.ts';

export interface Opening {
  /** ID of a rollout or a batch. */
  readonly stream: string;
  readonly after?: number;
  readonly afterRev?: number;
  readonly deltas?: boolean;
}

/** Returns the first frames of a connection, in order. */
export function openingFrames({ stream, after = 0, afterRev = 0, deltas = false }: Opening): string[] {
  return [
    { type: 'hello', protocol: PROTOCOL },
    { type: 'subscribe', sub: '1', stream, after, after_rev: afterRev, deltas },
  ].map((frame) => JSON.stringify(frame));
}
