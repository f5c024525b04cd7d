/**
 * The graceful end of a server: what is under way is finished, within bounds, in the order in which one waits for the
 * other.
 */
import { sleep } from '../../common/abort.ts';
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';

/** All of it ends well within the grace that clusters and service managers give. */
const STEP_MS = 2_000;
const EXECUTOR_MS = 4_000;
const LOOK_MS = 10;

/** A worker's session, as far as its end goes. */
interface DrainSource {
  readonly appending: number;
  leaving: boolean;
}

interface Reading {
  readonly idle: boolean;
  look(): void;
}

export interface DrainOptions {
  readonly workers: () => Iterable<DrainSource>;
  readonly clients: () => Iterable<Reading>;
  /** Ends the workers that cannot outlive the server. */
  readonly executor: () => Promise<void> | undefined;
  /** Sends what waits to be exported. */
  readonly exporter: (withinMs: number) => Promise<void>;
  readonly log: Log;
}

/**
 * Waits for workers to leave, for what they appended to be stored and answered, and for clients to have all of it.
 * Whoever is too slow for that comes again: nothing durable depends on it.
 */
export async function drain({ workers, clients, executor, exporter, log }: DrainOptions): Promise<void> {
  const failed =
    (what: string) =>
    (error: unknown): void =>
      log(`${what} failed: ${errorText(error)}`, { level: 'error' });
  await within(EXECUTOR_MS, executor, failed('ending the workers'));
  const sessions = [...workers()];
  for (const session of sessions) session.leaving = true;
  await until(() => sessions.every(({ appending }) => appending === 0));
  const readers = [...clients()];
  for (const reader of readers) reader.look();
  await Promise.all([
    until(() => readers.every(({ idle }) => idle)),
    within(STEP_MS, () => exporter(STEP_MS), failed('exporting the last traces')),
  ]);
}

async function until(done: () => boolean): Promise<void> {
  const end = performance.now() + STEP_MS;
  while (!done() && performance.now() < end) await sleep(LOOK_MS);
}

/** What takes longer goes on, unwatched. */
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
