/** Loads all attempts of a task in full, and computes their tree and their alignment. */

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

/** Number of attempts to read at the same time. */
const AT_ONCE = 6;

export interface ComparedAttempts {
  readonly attempts: readonly ComparedAttempt[];
  /** The batch of each attempt. */
  readonly batches: readonly string[];
  /** The row of each attempt. */
  readonly rows: readonly RolloutRow[];
  readonly models: readonly TrajectoryModel[];
  /** The checks of each attempt's score. */
  readonly checks: readonly (readonly Check[])[];
  readonly tree: Branch;
  readonly alignment: Alignment;
}

export class CompareData extends StreamData {
  /** undefined until all attempts are loaded. */
  compared: ComparedAttempts | undefined;
  batch: BatchRow | undefined;
  /** The later batch to compare with. */
  other: BatchRow | undefined;
  /** Number of attempts that have not ended. */
  open = 0;
  /** Number of loaded attempts, and of all. */
  read = 0;
  total = 0;

  constructor(host: Host, batch: string, task: string, other: string | undefined) {
    super(host);
    void this.load(this.#read(batch, task, other));
  }

  async #read(batch: string, task: string, other: string | undefined): Promise<void> {
    this.batch = await this.api.batch(batch, this.signal);
    if (other !== undefined) this.other = await this.api.batch(other, this.signal);
    const counted = [...(await this.#rows(batch, task)), ...(other === undefined ? [] : await this.#rows(other, task))];
    this.open = counted.filter((row) => row.state !== 'ended').length;
    const started = counted.filter((row) => row.last > 0);
    this.total = started.length;
    const trajectories = started.map((row) => ({ row, model: new TrajectoryModel() }));
    const waiting = trajectories.values();
    const read = async (): Promise<void> => {
      for (const { row, model } of waiting) {
        for await (const page of this.api.allEvents(row.rollout, this.signal))
          model.push(page.map((event) => readEvent(event, { checked: true })));
        this.read += 1;
        this.touch();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, read));
    const models = trajectories.map(({ model }) => model);
    const attempts = trajectories.map(({ row, model }) => comparedAttempt(row, model));
    this.compared = {
      attempts,
      batches: started.map((row) => row.batch),
      rows: started,
      models,
      checks: models.map((model) => {
        const score = model.scores.at(-1)?.data;
        return score === undefined ? [] : checksOf(score);
      }),
      tree: prefixTree(attempts),
      alignment: align(attempts, bestReference(attempts)),
    };
    this.head();
  }

  /** Returns the row that counts for each attempt. */
  async #rows(batch: string, task: string): Promise<RolloutRow[]> {
    const rows: RolloutRow[] = await Array.fromAsync(this.api.allRollouts(batch, { task, all: 1 }, this.signal));
    return [...Map.groupBy(rows, (row) => row.attempt).values()]
      .flatMap((tries) => attemptRow(tries) ?? [])
      .sort((a, b) => a.attempt - b.attempt);
  }
}
