/** Prints and judges reports. */
import { comparisonText, reportText } from '../client/text/reportText.ts';
import { reaches, type Bar } from '../trace/statistics/bar.ts';
import type { Comparison, Report } from '../trace/statistics/schema.ts';
import type { Context } from './context.ts';

/** Prints a report (with a comparison) and says which bars it misses. 1 when it misses one. */
export function printReport(context: Context, report: Report, bars: readonly Bar[], comparison?: Comparison): 0 | 1 {
  const judged = bars.map((bar) => reaches(report, bar));
  if (context.json) context.printJson(comparison === undefined ? report : { ...report, baseline: comparison });
  else {
    context.print(reportText(report, context.terminal.width));
    if (comparison !== undefined) context.print(`\n${comparisonText(comparison)}`);
  }
  for (const { ok, text } of judged) context.tell(`${ok ? '✓' : '✗'} ${text}`);
  return judged.every(({ ok }) => ok) ? 0 : 1;
}
