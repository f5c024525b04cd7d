/** Figures of all groups of a batch, for its page and its report. */
import { each, type Piecewise } from '../../common/piecewise.ts';
import type { RolloutRow } from '../summary.ts';
import { byVersion, rangeOf } from '../weights.ts';
import { type Signal, signalOf } from './group.ts';
import { whyExcludedOf } from './whyExcluded.ts';

/**
 * Tokens that a trainer learns nothing from. Each is in one of the parts.
 *
 * - tries: of tries that do not count for their attempt.
 * - excluded: of attempts that do not count for their group.
 * - no_signal: of the other attempts in groups without signal.
 */
export interface WastedTokens {
  readonly tries: number;
  readonly excluded: number;
  readonly no_signal: number;
}

export interface GroupFigures {
  /** Groups by signal. */
  readonly groups: Readonly<Record<Signal, number>>;
  readonly wasted: WastedTokens;
  /** Rollouts that were lost to infrastructure, and all that have ended: with tries that do not count. */
  readonly lost: { readonly rollouts: number; readonly of: number };
  /** Attempts with drift, all that have ended, and the calls that drifted: see `Progress.drifts`. */
  readonly drift: { readonly attempts: number; readonly of: number; readonly calls: number };
  /** Attempts by the newest version of the weights that sampled them, from old to new. Empty if none was announced. */
  readonly versions: readonly (readonly [version: string, attempts: number])[];
}

interface GroupSums {
  rows: number;
  scored: number;
  open: number;
  low: number;
  high: number;
  /** Of the members that count. */
  tokens: number;
}

interface GroupsInput {
  /** Rows that count for their attempts. */
  readonly counting: Iterable<RolloutRow>;
  /** All rows: also those of tries that do not count. */
  readonly rows: Iterable<RolloutRow>;
  /** Requested attempts per task; those without a row are open. */
  readonly attempts?: number | undefined;
  /** Number of tasks; those without a row are open. */
  readonly tasks?: number | undefined;
}

export function* groupFigures({ counting, rows, attempts = 0, tasks = 0 }: GroupsInput): Piecewise<GroupFigures> {
  const wasted = { tries: 0, excluded: 0, no_signal: 0 };
  const lost = { rollouts: 0, of: 0 };
  const drift = { attempts: 0, of: 0, calls: 0 };
  const versions = new Map<string, number>();
  const sums = new Map<string, GroupSums>();
  let last: { readonly task: string; readonly own: GroupSums } | undefined;
  let all = 0;
  yield* each(rows, (row) => {
    all += tokensOf(row);
    if (row.state !== 'ended') return;
    lost.of += 1;
    if (row.progress.status === 'infrastructure') lost.rollouts += 1;
  });
  let counted = 0;
  yield* each(counting, (row) => {
    counted += tokensOf(row);
    const { drifts = 0 } = row.progress;
    drift.calls += drifts;
    if (drifts > 0) drift.attempts += 1;
    if (row.state === 'ended' || drifts > 0) drift.of += 1;
    const newest = rangeOf(Object.values(row.progress.weights ?? {}).flat())?.[1];
    if (newest !== undefined) versions.set(newest, (versions.get(newest) ?? 0) + 1);
    if (last?.task !== row.task) {
      let own = sums.get(row.task);
      if (own === undefined)
        sums.set(row.task, (own = { rows: 0, scored: 0, open: 0, low: Infinity, high: -Infinity, tokens: 0 }));
      last = { task: row.task, own };
    }
    addMember(last.own, row, wasted);
  });
  const groups = { some: 0, none: 0, open: Math.max(0, tasks - sums.size), excluded: 0 };
  for (const own of sums.values()) {
    own.open += Math.max(0, attempts - own.rows);
    const signal = signalOf(own);
    groups[signal] += 1;
    if (signal === 'none') wasted.no_signal += own.tokens;
  }
  wasted.tries = all - counted;
  return { groups, wasted, lost, drift, versions: [...versions].sort(([a], [b]) => byVersion(a, b)) };
}

function addMember(own: GroupSums, row: RolloutRow, wasted: { excluded: number }): void {
  own.rows += 1;
  const { reward } = row.progress;
  if (row.state !== 'ended') own.open += 1;
  else if (whyExcludedOf(row) !== undefined || typeof reward !== 'number') wasted.excluded += tokensOf(row);
  else {
    own.scored += 1;
    own.low = Math.min(own.low, reward);
    own.high = Math.max(own.high, reward);
    own.tokens += tokensOf(row);
  }
}

function tokensOf({ progress }: RolloutRow): number {
  return progress.input_tokens + progress.output_tokens;
}

/** Returns the sum of the parts. */
export function allWasted({ tries, excluded, no_signal: noSignal }: WastedTokens): number {
  return tries + excluded + noSignal;
}

/** An infrastructure share above this needs a look: the batch loses more than a trainer can ignore. */
export const MAX_LOST_SHARE = 0.05;
