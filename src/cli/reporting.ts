/** Prints reports and checks them against thresholds. */

import type { PodHours } from '../client/podHours.ts';
import { forkText } from '../client/text/forkText.ts';
import { comparisonText, reportText } from '../client/text/reportText.ts';
import { podHoursText } from '../client/text/sharesText.ts';
import { changesText } from '../client/text/verdictText.ts';
import { type Bar, reaches } from '../trace/statistics/bar.ts';
import type { ForkRates } from '../trace/statistics/forkRates.ts';
import type { Comparison, Report } from '../trace/statistics/schema.ts';
import type { VerdictChanges } from '../trace/verdicts.ts';
import type { Context } from './context.ts';

interface ReportExtras {
  readonly comparison?: Comparison | undefined;
  /** How a fork’s pass rate compares with its parent’s. */
  readonly fork?: ForkRates | undefined;
  /** How the verdicts of a batch compare with the rewards that they judge again. */
  readonly rescored?: VerdictChanges | undefined;
  /** What its pods used. */
  readonly hours?: PodHours | undefined;
  /** The held attempts, as text; '' if there are none. */
  readonly held?: string;
  /** See `Connection.placed`. */
  readonly placed?: ((text: string) => string) | undefined;
}

/** Prints a report, its comparisons, and the result of each threshold. Returns 1 if the report misses one. */
export function printReport(
  context: Context,
  report: Report,
  bars: readonly Bar[],
  { comparison, fork, rescored, hours, held = '', placed = context.placed }: ReportExtras = {},
): 0 | 1 {
  const incidents = report.incidents.map((one) => ({ ...one, text: placed(one.text) }));
  const results = bars.map((bar) => reaches(report, bar));
  if (context.json)
    context.printJson({
      ...report,
      incidents,
      ...(comparison === undefined ? {} : { baseline: comparison }),
      ...(fork === undefined ? {} : { fork }),
      ...(rescored === undefined ? {} : { rescored }),
      ...(hours === undefined ? {} : { hours }),
    });
  else {
    context.print(reportText({ ...report, incidents }, context.terminal.width));
    if (hours !== undefined) context.print(podHoursText(hours));
    if (held !== '') context.print(`\n${held}`);
    if (fork !== undefined) context.print(`\n${forkText(fork)}`);
    if (rescored !== undefined) context.print(`\n${changesText(rescored)}`);
    if (comparison !== undefined) context.print(`\n${comparisonText(comparison)}`);
  }
  for (const { ok, text } of results) context.log(`${ok ? '✓' : '✗'} ${text}`);
  return results.every(({ ok }) => ok) ? 0 : 1;
}
