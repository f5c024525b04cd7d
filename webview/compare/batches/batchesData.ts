/** Loads two batches in full: how each task's pass rate changed, and the paired difference. */
import { StudioError } from '../../../src/common/errors.ts';
import type { BatchRow } from '../../../src/protocol/client.ts';
import { type ComparedBatches, compareBatches } from '../../../src/trace/align/batches.ts';
import type { ReportInput } from '../../../src/trace/statistics.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { readDefinition } from '../../data/definition.ts';
import { StreamData } from '../../data/streamData.ts';
import type { Host } from '../../host/host.ts';

export class BatchesData extends StreamData {
  before: BatchRow | undefined;
  after: BatchRow | undefined;
  /** undefined until both are loaded. */
  compared: ComparedBatches | undefined;
  /** Number of loaded rows. */
  read = 0;

  constructor(host: Host, before: string, after: string) {
    super(host);
    void this.load(this.#read(before, after));
  }

  /** Number of attempts that have not ended. */
  get open(): number {
    return [this.before, this.after].reduce(
      (sum, row) => sum + (row === undefined ? 0 : row.counts.running + row.counts.held + row.counts.queued),
      0,
    );
  }

  async #read(before: string, after: string): Promise<void> {
    if (before === after) throw new StudioError('usage', 'Both batches are the same. Choose another one to compare.');
    [this.before, this.after] = await Promise.all([
      this.api.batch(before, this.signal),
      this.api.batch(after, this.signal),
    ]);
    this.touch();
    const [was, is] = await Promise.all([this.#input(this.before), this.#input(this.after)]);
    this.compared = compareBatches(was, is);
    this.head();
  }

  async #input(batch: BatchRow): Promise<ReportInput> {
    const rows: RolloutRow[] = [];
    const definition = batch.imported ? undefined : readDefinition(this.blobs, batch.submission);
    for await (const row of this.api.allRollouts(batch.batch, { all: 1 }, this.signal)) {
      rows.push(row);
      this.read += 1;
      if (this.read % 500 === 0) this.touch();
    }
    const { passesPerTask, perturb } = (await definition) ?? {};
    return {
      batch: batch.batch,
      rows,
      tasks: batch.tasks,
      // Tasks of an imported batch may have different numbers of attempts.
      ...(batch.imported ? {} : { attempts: batch.attempts }),
      ...(passesPerTask === undefined ? {} : { passesPerTask }),
      perturb,
    };
  }
}
