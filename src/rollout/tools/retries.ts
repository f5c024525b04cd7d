import type { ClassedError } from '../../trace/classedError.ts';
import type { Change, ErrorClass, EventData } from '../../trace/schema.ts';
import type { ToolOutcome, ToolSpec } from '../ports.ts';
import { roundMs } from '../time.ts';

/**
 * Error classes that a retry may fix: not invalid arguments, and nothing that ends the rollout.
 */
const AGAIN: ReadonlySet<ErrorClass> = new Set(['tool_error', 'world_error', 'timeout']);
const MAX_WAIT_MS = 60_000;

export type ToolRetries = NonNullable<EventData['tool.end']['retries']>;

interface RetryPorts {
  /** Server time in ms, for the record. */
  now(): number;
  monotonic(): number;
  /** Rejects if the call should not continue. */
  wait(ms: number): Promise<void>;
  /** Writes a line to the log of the call. */
  log(text: string): void;
  /** Converts thrown values to a ClassedError. */
  classed(thrown: unknown): ClassedError;
}

/**
 * Makes a call and retries it after failures as often as its tool allows. Earlier tries are added to `retries`; their
 * changes to the world are part of the outcome. Throws the last failure as a ClassedError.
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
      const outcome = await make();
      return changes.length === 0 ? outcome : { ...outcome, changes: [...changes, ...(outcome.changes ?? [])] };
    } catch (thrown) {
      const error = ports.classed(thrown);
      if (tried >= times || !AGAIN.has(error.class)) throw error;
      changes.push(...(error.changes ?? []));
      const wait = Math.min(MAX_WAIT_MS, waitMs * 2 ** tried);
      ports.log(`${error.class}: ${error.message}\nRetrying in ${wait / 1000} s (${tried + 1} of ${times}).\n`);
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
