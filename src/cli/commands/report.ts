import { reportInput } from '../../client/commands/reportInput.ts';
import { resolveBatch } from '../../client/reference.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { forkRates } from '../../protocol/forkParent.ts';
import { parseFailUnder } from '../../trace/statistics/bar.ts';
import { compareReports } from '../../trace/statistics/compare.ts';
import { report as makeReport } from '../../trace/statistics.ts';
import { type Command, oneWord, textOption, textOptions } from '../command.ts';
import { printReport } from '../reporting.ts';

export const report: Command = {
  name: 'report',
  usage: 'BATCH [--baseline BATCH] [--fail-under pass@K=X]',
  text:
    'Prints the statistics of a batch: pass@k and pass^k with intervals, outcomes, tokens, and times. Compares a ' +
    'fork with its parent.',
  options: {
    baseline: { type: 'string', value: 'BATCH', text: 'compare with this batch, task by task' },
    'fail-under': {
      type: 'string',
      value: 'pass@K=X',
      text: 'exit with 1 if the result is below this threshold; repeatable',
      multiple: true,
    },
  },
  async run(context, commandLine) {
    const word = oneWord(report, commandLine);
    const bars = textOptions(commandLine, 'fail-under').flatMap(parseFailUnder);
    const { api } = await context.connect();
    const rowOf = async (text: string): Promise<BatchRow> =>
      api.batch(await resolveBatch(api, text, context.signal), context.signal);
    const inputOf = (row: BatchRow): ReturnType<typeof reportInput> =>
      reportInput(
        api,
        row,
        bars.map((bar) => bar.k),
        context.signal,
      );
    const row = await rowOf(word);
    const input = await inputOf(row);
    const against = textOption(commandLine, 'baseline');
    return printReport(context, makeReport(input), bars, {
      comparison: against === undefined ? undefined : compareReports(input, await inputOf(await rowOf(against))),
      fork: await forkRates(api, row, input.rows, context.signal),
    });
  },
};
