import { plural } from '../../common/text.ts';
import type { Agreement, PairAgreement } from '../../trace/agreement/agreement.ts';
import type { Interval } from '../../trace/statistics/bootstrap.ts';
import { table } from './table.ts';

/** Attempts on which scorers disagree that are listed; all are in the JSON. */
const MAX_LISTED = 20;

/** Formats the agreement of the scorers of a batch for a terminal. */
export function agreementText(agreement: Agreement): string {
  const { attempts, scorers, alpha, intervals, pairs, disagreements, why } = agreement;
  const parts = [
    table(
      [
        ['scorer', 'judged', 'passed'],
        ...scorers.map(({ scorer, judged, passed }) => [scorer, String(judged), String(passed)]),
      ],
      [1, 2],
    ),
  ];
  if (pairs.length > 0) parts.push(table([PAIR_HEAD, ...pairs.map(pairCells)], [2, 3, 4, 5, 6, 7, 8]));
  parts.push(
    alpha === null
      ? `Krippendorff's alpha: none, because ${why['alpha'] ?? 'there are no verdicts'}.`
      : `Krippendorff's alpha ${number(alpha)}${intervalText(intervals.alpha)} over ` +
          `${plural(attempts, 'attempt')} that at least two scorers judged.`,
  );
  if (disagreements.length > 0) {
    const listed = disagreements.slice(0, MAX_LISTED).map(({ task, attempt, rollout, passed }) => [
      `${task}/${attempt}`,
      rollout,
      Object.entries(passed)
        .map(([scorer, did]) => `${scorer} ${did ? '✓' : '✗'}`)
        .join(', '),
    ]);
    const more = disagreements.length - listed.length;
    parts.push(
      table([[plural(disagreements.length, 'disagreement'), 'rollout', 'verdicts'], ...listed]) +
        (more > 0 ? `\n… and ${more} more: list all with --json.` : ''),
    );
  }
  return parts.join('\n\n');
}

const PAIR_HEAD = ['first', 'second', 'both ✓', '✓ ✗', '✗ ✓', 'both ✗', 'agree', 'kappa', '95%'];

function pairCells({ scorers, confusion, share, kappa, intervals }: PairAgreement): string[] {
  const { both_passed, only_first, only_second, both_failed } = confusion;
  return [
    ...scorers,
    ...[both_passed, only_first, only_second, both_failed].map(String),
    share === null ? '–' : `${Math.round(100 * share)}%`,
    kappa === null ? '–' : number(kappa),
    intervalText(intervals.kappa).trim(),
  ];
}

function intervalText(interval: Interval | null): string {
  return interval === null ? '' : ` ${number(interval[0])} … ${number(interval[1])}`;
}

function number(value: number): string {
  return value.toFixed(3);
}
