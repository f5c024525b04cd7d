import { StudioError } from '../common/errors.ts';
import type { RolloutRow } from '../trace/summary.ts';
import { type VerdictChanges, verdictChanges } from '../trace/verdicts.ts';
import type { Api } from './api.ts';
import type { BatchRow } from './client.ts';

/**
 * Compares the verdicts of a batch with the rewards that they judge again; undefined if it rescores no batch, or that
 * one is not available. `rows`: the rows of its attempts.
 */
export async function rescoredChanges(
  api: Api,
  { rescores }: BatchRow,
  rows: Iterable<RolloutRow>,
  signal?: AbortSignal,
): Promise<VerdictChanges | undefined> {
  if (rescores === undefined) return undefined;
  try {
    const rewards = new Map<string, RolloutRow>();
    for await (const row of api.allRollouts(rescores, { all: 1 }, signal)) rewards.set(row.rollout, row);
    return verdictChanges(rescores, rows, rewards);
  } catch (error) {
    if (StudioError.is(error, 'not_found')) return undefined;
    throw error;
  }
}
