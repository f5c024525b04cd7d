/**
 * Records in the stream of a batch that it waits, and why: after some seconds, and the same reason not again for a
 * while.
 */
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import type { Store } from '../../store/store.ts';
import { type WaitingFor, type WaitingSources, waitingBatches } from './waiting.ts';

const LOOK_MS = 2_000;
/** A shorter wait is no news. */
const PATIENCE_MS = 6_000;
const AGAIN_MS = 15 * 60_000;
/** People caused it, or the executor reports it itself. */
const KNOWN: ReadonlySet<WaitingFor> = new Set<WaitingFor>(['paused', 'cluster', 'queue', 'endpoint']);

interface WaitReportsOptions {
  readonly sources: WaitingSources;
  readonly store: Pick<Store, 'addBatchEvent' | 'elect'>;
  readonly log: Log;
}

interface Waiting {
  why: WaitingFor;
  since: number;
  readonly reported: Map<WaitingFor, number>;
}

export class WaitReports {
  readonly #options: WaitReportsOptions;
  readonly #waiting = new Map<string, Waiting>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: WaitReportsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.look(performance.now()).catch((error: unknown) =>
        options.log(`reporting what batches wait for failed: ${errorText(error)}`, { level: 'warning' }),
      );
    }, LOOK_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Reports what is due at a time. */
  async look(now: number): Promise<void> {
    const { sources, store } = this.#options;
    const found = waitingBatches(sources).filter(({ waiting: { why } }) => !KNOWN.has(why));
    const due = found.filter(({ waiting: { batch, why } }) => this.#isDue(batch, why, now));
    const batches = new Set(found.map(({ waiting: { batch } }) => batch));
    for (const batch of this.#waiting.keys()) {
      // What it waited for is remembered while the batch runs, so that a short wait is not news each time.
      if (!sources.shares.tracked.has(batch)) this.#waiting.delete(batch);
      else if (!batches.has(batch)) this.#waiting.set(batch, { ...this.#of(batch), since: Number.POSITIVE_INFINITY });
    }
    if (due.length === 0 || !(await store.elect('shares'))) return;
    for (const {
      waiting: { batch, why, text },
    } of due) {
      this.#of(batch).reported.set(why, now);
      await store.addBatchEvent(batch, 'infra', { what: `waiting_${why}`, text });
    }
  }

  #isDue(batch: string, why: WaitingFor, now: number): boolean {
    const waiting = this.#of(batch);
    if (waiting.why !== why || waiting.since > now) {
      waiting.why = why;
      waiting.since = now;
    }
    this.#waiting.set(batch, waiting);
    return now - waiting.since >= PATIENCE_MS && now - (waiting.reported.get(why) ?? -Infinity) >= AGAIN_MS;
  }

  #of(batch: string): Waiting {
    return this.#waiting.get(batch) ?? { why: 'share', since: Number.POSITIVE_INFINITY, reported: new Map() };
  }
}
