/** What is said about each verdict on a rollout. */
import { timeOfDay } from '../../src/common/units.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { personOf, REWARD, scorersOf } from '../../src/trace/verdicts.ts';
import { WORLD_OUTCOME_NAMES } from '../../src/trace/worldOutcomes.ts';

export interface VerdictText {
  readonly scorer: string;
  /** The scorer as people call it. */
  readonly name: string;
  readonly isPerson: boolean;
  readonly outcome: 'passed' | 'failed' | 'unscored';
  /** Absent for a label, which has no value of its own. */
  readonly value?: number;
  /** Version, person, and time, as far as they are known. */
  readonly details: readonly string[];
  /** The rollout whose scorer said it. */
  readonly run?: string;
}

/** Hashes are recognizable by their beginning. */
const VERSION_CHARS = 8;

/**
 * Returns the reward, then the newest verdict of each scorer, then labels; nothing if only the reward judges the
 * rollout. Withdrawn labels are left out. `score`: who wrote the reward.
 */
export function verdictTexts(
  row: Pick<RolloutRow, 'progress'>,
  score: { readonly scorer?: string; readonly version?: string | undefined } | undefined,
  now: number,
): VerdictText[] {
  const { progress } = row;
  const later = scorersOf([row]).flatMap((scorer): VerdictText[] => {
    const verdict = progress.verdicts?.[scorer];
    const person = personOf(scorer);
    if (verdict === undefined || (person !== undefined && verdict.passed === null)) return [];
    const { value, passed, outcome, at, version, by, run } = verdict;
    return [
      {
        scorer,
        name: person ?? scorer,
        isPerson: person !== undefined,
        outcome: outcomeOf(passed),
        ...(value === null || person !== undefined ? {} : { value }),
        details: [
          ...(outcome === undefined ? [] : [WORLD_OUTCOME_NAMES[outcome]]),
          ...versionText(version),
          ...(by === undefined || by === person ? [] : [`by ${by}`]),
          timeOfDay(at, now),
        ],
        ...(run === undefined ? {} : { run }),
      },
    ];
  });
  if (later.length === 0) return [];
  const { reward, passed, world_outcome: came, ended_at: at } = progress;
  const first: VerdictText = {
    scorer: REWARD,
    name: REWARD,
    isPerson: false,
    outcome: outcomeOf(passed),
    ...(reward === undefined || reward === null ? {} : { value: reward }),
    details: [
      ...(came === undefined ? [] : [WORLD_OUTCOME_NAMES[came]]),
      ...(score?.scorer === undefined ? [] : [`by ${score.scorer}`]),
      ...versionText(score?.version),
      ...(at === undefined ? [] : [timeOfDay(at, now)]),
    ],
  };
  return [first, ...later];
}

function outcomeOf(passed: boolean | null | undefined): VerdictText['outcome'] {
  return passed === true ? 'passed' : passed === false ? 'failed' : 'unscored';
}

function versionText(version: string | undefined): string[] {
  return version === undefined ? [] : [`version ${version.slice(0, VERSION_CHARS)}`];
}
