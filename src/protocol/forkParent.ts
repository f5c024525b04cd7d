/** The baseline of a fork: the attempts of its task in its parent's batch, and those with the same beginning. */
import { StudioError } from '../common/errors.ts';
import { type Action, actionsOf } from '../trace/align/actions.ts';
import { TrajectoryModel } from '../trace/model.ts';
import { attemptRow } from '../trace/outcome.ts';
import { compareWithParent, type ForkRates } from '../trace/statistics/forkRates.ts';
import type { RolloutRow } from '../trace/summary.ts';
import { readEvent } from '../trace/upgrades.ts';
import type { Api } from './api.ts';
import type { BatchRow } from './client.ts';

/** With more attempts than this, reading all of them only to compute a rate takes too long. */
const MAX_READ = 64;

export interface ForkParent {
  /** The attempts of the task: for each, the rollout that counts. */
  readonly rows: readonly RolloutRow[];
  /** Attempts that are equal up to the cut, including the parent; undefined if there are too many to read. */
  readonly siblings: readonly RolloutRow[] | undefined;
}

/** Reads the baseline; undefined if the parent is not available: in a saved page, or after `rollout gc`. */
export async function forkParent(
  api: Api,
  { rollout, seq }: { readonly rollout: string; readonly seq: number },
  signal?: AbortSignal,
): Promise<ForkParent | undefined> {
  try {
    const { row } = await api.rollout(rollout, signal);
    const all = await Array.fromAsync(api.allRollouts(row.batch, { task: row.task, all: 1 }, signal));
    const rows = [...Map.groupBy(all, ({ attempt }) => attempt).values()].flatMap((tries) => attemptRow(tries) ?? []);
    return { rows, siblings: await siblingsOf(api, rollout, seq, rows, signal) };
  } catch (error) {
    if (StudioError.is(error, 'not_found')) return undefined;
    throw error;
  }
}

/**
 * Compares a fork with its parent; undefined if the batch is not a fork, or its parent is not available. `rows`: the
 * rows of its attempts.
 */
export async function forkRates(
  api: Api,
  batch: BatchRow,
  rows: Iterable<RolloutRow>,
  signal?: AbortSignal,
): Promise<ForkRates | undefined> {
  if (batch.parent === undefined) return undefined;
  const parent = await forkParent(api, batch.parent, signal);
  return parent === undefined
    ? undefined
    : compareWithParent({
        seq: batch.parent.seq,
        fork: rows,
        parent: parent.rows,
        siblings: parent.siblings,
        attempts: batch.attempts,
      });
}

async function siblingsOf(
  api: Api,
  parent: string,
  seq: number,
  rows: readonly RolloutRow[],
  signal: AbortSignal | undefined,
): Promise<RolloutRow[] | undefined> {
  if (rows.length > MAX_READ || rows.some(({ trimmed }) => trimmed === true)) return undefined;
  const prefix = await actions(api, parent, signal, { until: seq });
  const siblings: RolloutRow[] = [];
  for (const row of rows) {
    if (
      row.rollout === parent ||
      prefix.length === 0 ||
      startsWith(await actions(api, row.rollout, signal, { max: prefix.length }), prefix)
    )
      siblings.push(row);
  }
  return siblings;
}

function startsWith(all: readonly Action[], prefix: readonly Action[]): boolean {
  return prefix.every(({ key }, index) => all[index]?.key === key);
}

/** Returns the actions of a rollout up to event `until`, or at least the first `max`. Reads no more than needed. */
async function actions(
  api: Api,
  rollout: string,
  signal: AbortSignal | undefined,
  { until = Infinity, max = Infinity }: { until?: number; max?: number },
): Promise<Action[]> {
  const model = new TrajectoryModel();
  let all: Action[] = [];
  for await (const page of api.allEvents(rollout, signal, until)) {
    model.push(page.map((event) => readEvent(event, { checked: true })));
    all = actionsOf(model);
    // The newest action may still change, because its calls follow it.
    if (all.length > max) break;
  }
  return all;
}
