/**
 * Shuts a server down gracefully: finishes pending work in order of dependency, within time limits.
 */
import { sleep } from '../../common/abort.ts';
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';

/** Together, these limits stay well within the grace period of clusters and service managers. */
const STEP_MS = 2_000;
const EXECUTOR_MS = 4_000;
const LOOK_MS = 10;

/** A worker's session, as far as the shutdown is concerned. */
interface DrainSource {
  readonly appending: number;
  draining: boolean;
}

interface Reading {
  readonly idle: boolean;
  check(): void;
}

interface DrainOptions {
  readonly workers: () => Iterable<DrainSource>;
  readonly clients: () => Iterable<Reading>;
  /** Stops the workers that cannot outlive the server. */
  readonly executor: () => Promise<void> | undefined;
  /** Sends pending exports. */
  readonly exporter: (withinMs: number) => Promise<void>;
  readonly log: Log;
}

/**
 * Waits for workers to leave, for their appends to be stored and acknowledged, and for clients to receive everything.
 * Those that are too slow reconnect later: nothing durable depends on this.
 */
export async function drain({ workers, clients, executor, exporter, log }: DrainOptions): Promise<void> {
  const failed =
    (what: string) =>
    (error: unknown): void =>
      log(`${what} failed: ${errorText(error)}`, { level: 'error' });
  await within(EXECUTOR_MS, executor, failed('ending the workers'));
  const sessions = [...workers()];
  for (const session of sessions) session.draining = true;
  await until(() => sessions.every(({ appending }) => appending === 0));
  const readers = [...clients()];
  for (const reader of readers) reader.check();
  await Promise.all([
    until(() => readers.every(({ idle }) => idle)),
    within(STEP_MS, () => exporter(STEP_MS), failed('exporting the last traces')),
  ]);
}

async function until(done: () => boolean): Promise<void> {
  const end = performance.now() + STEP_MS;
  while (!done() && performance.now() < end) await sleep(LOOK_MS);
}

/** Waits at most `ms`. Work that takes longer continues in the background. */
async function within(
  ms: number,
  work: () => Promise<void> | undefined,
  failed: (error: unknown) => void,
): Promise<void> {
  const late = new AbortController();
  await Promise.race([
    Promise.resolve()
      .then(work)
      .catch(failed)
      .finally(() => late.abort()),
    sleep(ms, late.signal).catch(() => undefined),
  ]);
}
