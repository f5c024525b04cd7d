/** Reads tau-bench results from parsed entries. */
import type { ImportedRecords, ImportedRollout, ImportOptions } from '../../src/formats/format.ts';
import { tauBench } from '../../src/formats/tauBench.ts';

interface ReadResults extends Omit<ImportedRecords, 'rollouts'> {
  readonly rollouts: readonly ImportedRollout[];
}

export async function readTauBench(
  entries: readonly unknown[],
  name: string,
  options: ImportOptions,
): Promise<ReadResults> {
  async function* elements(): AsyncGenerator<{ value: unknown }> {
    for (const value of entries) yield await Promise.resolve({ value });
  }
  const records = await tauBench.read({ name, elements }, options);
  return { ...records, rollouts: await Array.fromAsync(records.rollouts()) };
}
