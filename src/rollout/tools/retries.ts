import type { ClassedError } from '../../trace/classedError.ts';
import type { Change, ErrorClass, EventData } from '../../trace/schema.ts';
import type { ToolOutcome, ToolSpec } from '../ports.ts';
import { roundMs } from '../time.ts';

/**
 * What a tool may do better the next time. Arguments that do not fit stay so, and what ends the rollout ends the call.
 */
const AGAIN: ReadonlySet<ErrorClass> = new Set(['tool_error', 'world_error', 'timeout']);
const MAX_WAIT_MS = 60_000;

export type ToolRetries = NonNullable<EventData['tool.end']['retries']>;

export interface RetryPorts {
  /** Server time in ms, for the record. */
  now(): number;
  monotonic(): number;
  /** Rejects when the call is not to go on. */
  wait(ms: number): Promise<void>;
  /** A line for the log of the call. */
  tell(text: string): void;
  /** What was thrown with its class. */
  classed(thrown: unknown): ClassedError;
}

/**
 * Makes a call, and makes it again after a failure as often as its tool allows. What it did before goes to `retries`.
 * Throws the last failure as a ClassedError; what the tries before changed in the world is told with the outcome.
 */
export async function withRetries(
  spec: ToolSpec,
  ports: RetryPorts,
  retries: ToolRetries,
  make: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const { times, waitMs } = spec.retry ?? { times: 0, waitMs: 0 };
  const changes: Change[] = [];
  for (let tried = 0; ; tried++) {
    try {
      const gave = await make();
      return changes.length === 0 ? gave : { ...gave, changes: [...changes, ...(gave.changes ?? [])] };
    } catch (thrown) {
      const error = ports.classed(thrown);
      if (tried >= times || !AGAIN.has(error.class)) throw error;
      changes.push(...(error.changes ?? []));
      const wait = Math.min(MAX_WAIT_MS, waitMs * 2 ** tried);
      ports.tell(
        `${error.class}: ${error.message}\nThe call is made again in ${wait / 1000} s (${tried + 1} of ${times}).\n`,
      );
      const retry = { at: ports.now(), ms: 0, class: error.class };
      retries.push(retry);
      const began = ports.monotonic();
      try {
        await ports.wait(wait);
      } finally {
        retry.ms = roundMs(ports.monotonic() - began);
      }
    }
  }
}
