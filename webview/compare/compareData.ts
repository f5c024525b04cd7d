/**
 * Loads the attempts of a task. Those among which the page chooses its two columns come first, so that both are shown
 * while the others are read for what all attempts together show: their tree and their alignment.
 */

import type { BatchRow } from '../../src/protocol/client.ts';
import { bestReference, type ComparedAttempt, comparedAttempt } from '../../src/trace/align/attempt.ts';
import { type Alignment, align } from '../../src/trace/align/columns.ts';
import { type Branch, prefixTree } from '../../src/trace/align/prefixTree.ts';
import { checksOf } from '../../src/trace/checkRows.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import { attemptRow } from '../../src/trace/outcome.ts';
import type { Check } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { readEvent } from '../../src/trace/upgrades.ts';
import { StreamData } from '../data/streamData.ts';
import type { Host } from '../host/host.ts';
import type { ComparePlace } from './comparePage.tsx';
import { leftOf, neededFor } from './two/nearest.ts';

/** Number of attempts to read at the same time. */
const AT_ONCE = 6;

export interface ComparedAttempts {
  /** Those that have not been read have no actions. */
  readonly attempts: readonly ComparedAttempt[];
  /** The batch of each attempt. */
  readonly batches: readonly string[];
  /** The row of each attempt. */
  readonly rows: readonly RolloutRow[];
  /** The model of each attempt; without events if it has not been read. */
  readonly models: readonly TrajectoryModel[];
  /** The checks of each attempt's score. */
  readonly checks: readonly (readonly Check[])[];
  /** undefined: not all attempts have been read. Then only the two columns of `left` can be shown. */
  readonly whole: ComparedWhole | undefined;
  /** The attempt that the page opens with on the left. */
  readonly left: number;
}

/** What all attempts together show. */
export interface ComparedWhole {
  readonly tree: Branch;
  readonly alignment: Alignment;
}

interface ReadAttempt {
  readonly row: RolloutRow;
  readonly model: TrajectoryModel;
  /** Without actions until it is read. */
  attempt: ComparedAttempt;
  isRead: boolean;
}

export class CompareData extends StreamData {
  /** undefined until at least the two columns can be shown. */
  compared: ComparedAttempts | undefined;
  batch: BatchRow | undefined;
  /** The later batch to compare with. */
  other: BatchRow | undefined;
  /** Number of attempts that have not ended. */
  open = 0;
  /** Number of loaded attempts, and of all. */
  read = 0;
  total = 0;

  /** `place.rollout`: the attempt to open with; default: chosen by the page. */
  constructor(host: Host, place: ComparePlace) {
    super(host);
    void this.load(this.#read(place));
  }

  async #read({ batch, task, with: other, rollout }: ComparePlace): Promise<void> {
    const ids = other === undefined ? [batch] : [batch, other];
    const [batches, rows] = await Promise.all([
      Promise.all(ids.map((id) => this.api.batch(id, this.signal))),
      Promise.all(ids.map((id) => this.#rows(id, task))),
    ]);
    [this.batch, this.other] = batches;
    const counted = rows.flat();
    this.open = counted.filter((row) => row.state !== 'ended').length;
    const all = counted.filter((row) => row.last > 0).map(unread);
    this.total = all.length;
    const left = leftOf(
      all.map(({ attempt }) => attempt),
      rollout,
    );
    const own = all[left];
    if (own !== undefined) {
      const needed = new Set(
        neededFor(
          own.row,
          all.map(({ row }) => row),
        ),
      );
      const first = all.filter(({ row }) => needed.has(row));
      await this.#readAttempts(first);
      // If even these do the same, nothing is known about the others, and whether there is anything above the columns.
      if (first.length < all.length && prefixTree(first.map(({ attempt }) => attempt)).branches.length > 0) {
        this.compared = comparedOf(all, left, undefined);
        this.touchNow();
      }
      await this.#readAttempts(all);
    }
    const attempts = all.map(({ attempt }) => attempt);
    this.compared = comparedOf(all, left, {
      tree: prefixTree(attempts),
      alignment: align(attempts, bestReference(attempts)),
    });
    this.head();
    this.touchNow();
  }

  /** Reads those that have not been read, in order. */
  async #readAttempts(attempts: readonly ReadAttempt[]): Promise<void> {
    const waiting = attempts.filter(({ isRead }) => !isRead).values();
    const read = async (): Promise<void> => {
      for (const one of waiting) {
        for await (const page of this.api.allEvents(one.row.rollout, this.signal))
          one.model.push(page.map((event) => readEvent(event, { checked: true })));
        one.attempt = comparedAttempt(one.row, one.model);
        one.isRead = true;
        this.read += 1;
        this.touch();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, read));
  }

  /** Returns the row that counts for each attempt. */
  async #rows(batch: string, task: string): Promise<RolloutRow[]> {
    const rows: RolloutRow[] = await Array.fromAsync(this.api.allRollouts(batch, { task, all: 1 }, this.signal));
    return [...Map.groupBy(rows, (row) => row.attempt).values()]
      .flatMap((tries) => attemptRow(tries) ?? [])
      .sort((a, b) => a.attempt - b.attempt);
  }
}

function unread(row: RolloutRow): ReadAttempt {
  const model = new TrajectoryModel();
  return { row, model, attempt: comparedAttempt(row, model), isRead: false };
}

function comparedOf(all: readonly ReadAttempt[], left: number, whole: ComparedWhole | undefined): ComparedAttempts {
  return {
    attempts: all.map(({ attempt }) => attempt),
    batches: all.map(({ row }) => row.batch),
    rows: all.map(({ row }) => row),
    models: all.map(({ model }) => model),
    checks: all.map(({ model }) => {
      const score = model.scores.at(-1)?.data;
      return score === undefined ? [] : checksOf(score);
    }),
    whole,
    left,
  };
}
