/** Applies the rule for attempts that must not change the statistics of their group. */
import { StudioError } from '../../common/errors.ts';
import { mean } from '../../trace/groups/spread.ts';
import { whyExcludedOf } from '../../trace/groups/whyExcluded.ts';
import { groupOf } from '../../trace/selection/selection.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import type { GroupFacts, NullRule } from './format.ts';

/** An attempt that will be in the file, unless it turns out to have nothing that the format can write. */
export interface PlannedAttempt {
  readonly row: RolloutRow;
  readonly reward: number | null;
  readonly masked: boolean;
  readonly imputed: boolean;
  readonly group: GroupFacts;
}

interface Kept {
  readonly row: RolloutRow;
  readonly reward: number | null;
  /** Why it does not count, if it does not. */
  readonly why: string | undefined;
}

interface Planned {
  readonly attempts: readonly PlannedAttempt[];
  readonly groups: number;
  /** Number of attempts by reason. */
  readonly left_out: Readonly<Record<string, number>>;
}

/**
 * Returns the attempts in their order, with the reward that the format writes. `rows`: those of a group follow each
 * other. Throws StudioError `usage` with the rule `error`.
 */
export function planAttempts(rows: readonly RolloutRow[], rule: NullRule): Planned {
  const leftOut: Record<string, number> = {};
  const leaveOut = (why: string, count: number): void => {
    if (count > 0) leftOut[why] = (leftOut[why] ?? 0) + count;
  };
  const attempts: PlannedAttempt[] = [];
  let index = 0;
  for (const [id, members] of Map.groupBy(rows, groupOf)) {
    const whys = members.map((row) => whyExcludedOf(row));
    const scored = members.flatMap(({ progress: { reward } }, at) =>
      whys[at] === undefined && typeof reward === 'number' ? [reward] : [],
    );
    const excluded = members.length - scored.length;
    if (excluded > 0 && rule === 'error') throw excludedError(members, whys);
    if (excluded > 0 && rule === 'drop_group') {
      leaveOut('an attempt of their task does not count', members.length);
      continue;
    }
    const imputes = rule === 'mask' || rule === 'mean_of_group';
    const imputed = imputes && scored.length > 0 ? mean(scored) : undefined;
    const kept = members.flatMap((row, at): Kept[] => {
      const why = whys[at];
      if (why === undefined) return [{ row, reward: row.progress.reward ?? null, why }];
      if (rule === 'keep') return [{ row, reward: finite(row.progress.reward), why }];
      if (imputed !== undefined) return [{ row, reward: imputed, why }];
      leaveOut(imputes ? `${why}, and its task has no mean` : why, 1);
      return [];
    });
    if (kept.length === 0) continue;
    const rewards = kept.map(({ reward, why }) => (why === undefined ? reward : null));
    for (const [member, { row, reward, why }] of kept.entries())
      attempts.push({
        row,
        reward,
        masked: rule === 'mask' && why !== undefined,
        imputed: imputes && why !== undefined,
        group: { id, index, member, rewards },
      });
    index++;
  }
  return { attempts, groups: index, left_out: leftOut };
}

function finite(reward: number | null | undefined): number | null {
  return typeof reward === 'number' && Number.isFinite(reward) ? reward : null;
}

function excludedError(members: readonly RolloutRow[], whys: readonly (string | undefined)[]): StudioError {
  const at = whys.findIndex((why) => why !== undefined);
  const row = members[at];
  return new StudioError(
    'usage',
    `${row === undefined ? 'An attempt' : `${groupOf(row)}/${row.attempt}`} does not count: ${whys[at] ?? 'unknown'}.`,
    { hint: 'Select other attempts, such as with --outcome, or choose another rule with --null-reward.' },
  );
}
