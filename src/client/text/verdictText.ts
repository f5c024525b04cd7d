import { plural } from '../../common/text.ts';
import type { VerdictChanges } from '../../trace/verdicts.ts';

/** Describes how the verdicts of a batch compare with the rewards that they judge again. */
export function changesText(changes: VerdictChanges): string {
  const { batch, compared, same, passed_to_failed: down, failed_to_passed: up, undecided } = changes;
  const lines = [`${same} of ${plural(compared, 'verdict')} agree with the rewards of batch ${batch}.`];
  if (down > 0) lines.push(`  passed → failed  ${down}`);
  if (up > 0) lines.push(`  failed → passed  ${up}`);
  if (undecided > 0) lines.push(`  undecided        ${undecided}`);
  return lines.join('\n');
}
