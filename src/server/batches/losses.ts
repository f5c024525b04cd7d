/**
 * Watches the attempts of a batch that are lost to infrastructure: reports the first of each kind, and says when the
 * batch is not worth continuing because all of them are.
 */
import { plural } from '../../common/text.ts';
import type { Store } from '../../store/store.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import type { Secrets } from './secrets.ts';

/** A batch whose first rollouts were all lost is stopped. With few attempts, the retries end before that. */
const FIRST_ROLLOUTS = 10;
const MAX_REPORTS = 3;
const MAX_LINE = 600;

interface Loss {
  readonly rollout: string;
  /** The report, if this is the first loss of its kind. */
  readonly report: string | undefined;
  /** Why the batch must stop; undefined if it continues. */
  readonly stop: string | undefined;
}

export class Losses {
  /** The first rollouts that started, and whether each was lost. */
  readonly #first = new Map<string, boolean>();
  readonly #kinds = new Set<string>();
  /** Messages of the last failed model calls, by rollout: such failures are reported with their endpoint. */
  readonly #modelErrors = new Map<string, string>();
  #anyOther = false;

  /** Handles a stored event of one of the batch's rollouts. Returns the loss that it is. */
  add(rollout: string, event: TraceEvent): Loss | undefined {
    if (event.kind === 'rollout.start') {
      if (this.#first.size < FIRST_ROLLOUTS) this.#first.set(rollout, false);
      return undefined;
    }
    if (event.kind === 'model.end' && event.data.error?.class === 'infrastructure')
      this.#modelErrors.set(rollout, event.data.error.message);
    if (event.kind !== 'rollout.end') return undefined;
    const modelError = this.#modelErrors.get(rollout);
    this.#modelErrors.delete(rollout);
    if (modelError !== undefined && modelError === event.data.error?.message) return undefined;
    if (event.data.status !== 'infrastructure') {
      this.#anyOther = true;
      return undefined;
    }
    if (this.#first.has(rollout)) this.#first.set(rollout, true);
    const line = shortLine(event.data.error?.message ?? 'infrastructure');
    return { rollout, report: this.#report(line), stop: this.#allLost() ? stopText(line) : undefined };
  }

  #report(line: string): string | undefined {
    const kind = line.replaceAll(/\d+/g, '0');
    if (this.#kinds.has(kind) || this.#kinds.size >= MAX_REPORTS) return undefined;
    this.#kinds.add(kind);
    return `An attempt was lost to infrastructure: ${line}`;
  }

  #allLost(): boolean {
    return !this.#anyOther && this.#first.size === FIRST_ROLLOUTS && [...this.#first.values()].every(Boolean);
  }
}

interface Handling {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly batch: string;
  readonly stop: (reason: string) => Promise<unknown>;
}

/** Records a loss in the batch's stream, and stops the batch if it is not worth continuing. */
export async function handleLoss({ store, secrets, batch, stop }: Handling, loss: Loss): Promise<void> {
  if (loss.report !== undefined) {
    const text = secrets.clean(batch, loss.report);
    await store.addBatchEvent(batch, 'infra', { what: 'attempt', rollout: loss.rollout, text });
  }
  if (loss.stop === undefined) return;
  const record = await store.batch(batch);
  if (record === undefined || record.stopping !== undefined || record.row.state === 'ended') return;
  // Before this server started, attempts may have ended otherwise.
  const { passed, failed, unscored, cancelled } = record.row.counts;
  if (passed + failed + unscored + cancelled > 0) return;
  const text = secrets.clean(batch, loss.stop);
  await store.addBatchEvent(batch, 'infra', { what: 'attempts', text });
  await stop(text);
}

function stopText(line: string): string {
  return `The first ${plural(FIRST_ROLLOUTS, 'rollout')} were all lost to infrastructure. The last one: ${line}`;
}

/** Puts a message on one line. What a process said last is at its end, so the middle is left out if it is long. */
function shortLine(message: string): string {
  const line = message
    .split('\n')
    .map((part) => part.trim())
    .filter((part) => part !== '' && !/^at \S/.test(part)) // frames of a stack
    .join(' | ')
    .replaceAll(': | ', ': ');
  if (line.length <= MAX_LINE) return line;
  const half = Math.floor(MAX_LINE / 2);
  return `${line.slice(0, half)}…${line.slice(-half)}`;
}
