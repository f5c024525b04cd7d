/** Prints and judges reports. */
import { forkText } from '../client/text/forkText.ts';
import { comparisonText, reportText } from '../client/text/reportText.ts';
import { type Bar, reaches } from '../trace/statistics/bar.ts';
import type { ForkRates } from '../trace/statistics/fromHere.ts';
import type { Comparison, Report } from '../trace/statistics/schema.ts';
import type { Context } from './context.ts';

export interface Beside {
  readonly comparison?: Comparison | undefined;
  /** Of a fork: how it does beside its parent. */
  readonly fork?: ForkRates | undefined;
}

/** Prints a report with what it is held against, and says which bars it misses. 1 when it misses one. */
export function printReport(
  context: Context,
  report: Report,
  bars: readonly Bar[],
  { comparison, fork }: Beside = {},
): 0 | 1 {
  const judged = bars.map((bar) => reaches(report, bar));
  if (context.json)
    context.printJson({
      ...report,
      ...(comparison === undefined ? {} : { baseline: comparison }),
      ...(fork === undefined ? {} : { fork }),
    });
  else {
    context.print(reportText(report, context.terminal.width));
    if (fork !== undefined) context.print(`\n${forkText(fork)}`);
    if (comparison !== undefined) context.print(`\n${comparisonText(comparison)}`);
  }
  for (const { ok, text } of judged) context.tell(`${ok ? '✓' : '✗'} ${text}`);
  return judged.every(({ ok }) => ok) ? 0 : 1;
}
