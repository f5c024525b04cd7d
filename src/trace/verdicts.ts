/** Verdicts on rollouts: the reward, which is written at the end, and later ones of other scorers and of people. */
import { StudioError } from '../common/errors.ts';
import type { Cause, RolloutRow, Verdict } from './summary.ts';

/** The scorer of a person's verdict is this and their name. */
export const PERSON = 'person:';

/** Name of the verdict that was written at the end of a rollout. */
export const REWARD = 'reward';

/** What one scorer says. */
export type Judgement = Pick<Verdict, 'value' | 'passed' | 'outcome'>;

/** Returns the name of the person, if a scorer is one. */
export function personOf(scorer: string): string | undefined {
  return scorer.startsWith(PERSON) ? scorer.slice(PERSON.length) : undefined;
}

/** Returns the verdict of a scorer on the rollout of a row; undefined if it has none. */
export function judgementOf({ progress }: Pick<RolloutRow, 'progress'>, scorer: string): Judgement | undefined {
  if (scorer !== REWARD) return progress.verdicts?.[scorer];
  const { reward, passed, world_outcome: outcome } = progress;
  if (reward === undefined || passed === undefined) return undefined;
  return { value: reward, passed, ...(outcome === undefined ? {} : { outcome }) };
}

/** Returns the names of all scorers with later verdicts: people last, otherwise by name. */
export function scorersOf(rows: Iterable<Pick<RolloutRow, 'progress'>>): string[] {
  const names = new Set<string>();
  for (const { progress } of rows) for (const name of Object.keys(progress.verdicts ?? {})) names.add(name);
  const isPerson = (name: string): number => (personOf(name) === undefined ? 0 : 1);
  return [...names].sort((a, b) => isPerson(a) - isPerson(b) || (a < b ? -1 : 1));
}

/** Returns a row as if the verdict of another scorer were its reward; unscored if that scorer has none. */
export function rowByScorer(row: RolloutRow, scorer: string): RolloutRow {
  if (scorer === REWARD || row.state !== 'ended') return row;
  const { status } = row.progress;
  if (status !== 'done' && status !== 'truncated') return row;
  const { value, passed, outcome }: Judgement = judgementOf(row, scorer) ?? { value: null, passed: null };
  const { cause: _ofReward, world_outcome: _ofWorld, ...progress } = row.progress;
  const text = passed === null ? 'not scored' : `failed by ${scorer}`;
  const cause: Cause | undefined = passed === true ? undefined : { kind: passed === null ? 'unscored' : 'check', text };
  return {
    ...row,
    progress: {
      ...progress,
      ...{ reward: value, passed },
      ...(outcome === undefined ? {} : { world_outcome: outcome }),
      ...(cause === undefined ? {} : { cause }),
    },
  };
}

/**
 * Returns rows as if the verdicts of another scorer were their rewards; the rows themselves for the reward. Throws
 * StudioError `not_found`, with the scorers that there are, for a scorer without a verdict.
 */
export function rowsByScorer(rows: readonly RolloutRow[], scorer: string): readonly RolloutRow[] {
  if (scorer === REWARD) return rows;
  const scorers = scorersOf(rows);
  if (scorers.includes(scorer)) return rows.map((row) => rowByScorer(row, scorer));
  throw new StudioError('not_found', `No attempt has a verdict of “${scorer}”.`, {
    hint:
      scorers.length === 0
        ? 'Only the reward has judged them. Run another scorer with rollout rescore BATCH --scorer FILE.'
        : `Scorers: ${[REWARD, ...scorers].join(', ')}.`,
  });
}

/** Returns whether two scorers contradict each other about whether the rollout passed. */
export function disagrees(row: Pick<RolloutRow, 'progress'>): boolean {
  const { passed, verdicts } = row.progress;
  if (verdicts === undefined) return false;
  const said = [passed, ...Object.values(verdicts).map((verdict) => verdict.passed)];
  return said.includes(true) && said.includes(false);
}

/** How the verdicts of a batch that rescores another one compare with the rewards there. */
export interface VerdictChanges {
  /** ID of the batch that was scored again. */
  readonly batch: string;
  /** Attempts on which both scorers decide. */
  readonly compared: number;
  readonly same: number;
  readonly passed_to_failed: number;
  readonly failed_to_passed: number;
  /** Attempts on which at least one of them does not decide. */
  readonly undecided: number;
}

/** `rewards`: the rows that were scored again. */
export function verdictChanges(
  batch: string,
  rows: Iterable<RolloutRow>,
  rewards: ReadonlyMap<string, RolloutRow>,
): VerdictChanges {
  const count = { compared: 0, same: 0, passed_to_failed: 0, failed_to_passed: 0, undecided: 0 };
  for (const { settles, rescores, progress } of rows) {
    if (!settles || rescores === undefined) continue;
    const before = rewards.get(rescores)?.progress.passed;
    const after = progress.passed;
    if (typeof before !== 'boolean' || typeof after !== 'boolean') count.undecided += 1;
    else {
      count.compared += 1;
      if (before === after) count.same += 1;
      else if (before) count.passed_to_failed += 1;
      else count.failed_to_passed += 1;
    }
  }
  return { batch, ...count };
}
