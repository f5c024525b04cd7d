import { type BatchSnapshot, batchSnapshot } from '../../client/commands/batchSnapshot.ts';
import { reportInput } from '../../client/commands/reportInput.ts';
import { podHours } from '../../client/podHours.ts';
import { resolveBatch } from '../../client/reference.ts';
import { heldAttempts } from '../../client/text/batchText.ts';
import { finish } from '../../common/piecewise.ts';
import { forkRates } from '../../protocol/forkParent.ts';
import { rescoredChanges } from '../../protocol/rescored.ts';
import { parseFailUnder } from '../../trace/statistics/bar.ts';
import { compareReports } from '../../trace/statistics/compare.ts';
import { attemptRows } from '../../trace/statistics/outcomes.ts';
import { report as makeReport } from '../../trace/statistics.ts';
import { REWARD, rowsByScorer } from '../../trace/verdicts.ts';
import { type Command, FAIL_UNDER_OPTION, oneWord, textOption, textOptions } from '../command.ts';
import { printReport } from '../reporting.ts';

export const report: Command = {
  name: 'report',
  usage: 'BATCH [--baseline BATCH] [--scorer NAME] [--fail-under pass@K=X]',
  text:
    'Prints the statistics of a batch: pass@k and pass^k with intervals, outcomes, tokens, and times. Compares a ' +
    'fork with its parent.',
  options: {
    baseline: { type: 'string', value: 'BATCH', text: 'compare with this batch, task by task' },
    scorer: { type: 'string', value: 'NAME', text: 'use the verdicts of this scorer instead of the reward' },
    ...FAIL_UNDER_OPTION,
  },
  async run(context, commandLine) {
    const word = oneWord(report, commandLine);
    const bars = textOptions(commandLine, 'fail-under').flatMap(parseFailUnder);
    const { api } = await context.connect();
    const scorer = textOption(commandLine, 'scorer') ?? REWARD;
    const read = async (text: string): Promise<BatchSnapshot> => {
      const whole = await batchSnapshot(api, await resolveBatch(api, text, context.signal), context.signal);
      return { ...whole, rows: rowsByScorer(whole.rows, scorer) };
    };
    const inputOf = ({ batch, rows }: BatchSnapshot): ReturnType<typeof reportInput> =>
      reportInput(
        api,
        batch,
        bars.map((bar) => bar.k),
        context.signal,
        rows,
      );
    const snapshot = await read(word);
    const input = await inputOf(snapshot);
    const against = textOption(commandLine, 'baseline');
    return printReport(context, makeReport(input), bars, {
      comparison: against === undefined ? undefined : compareReports(input, await inputOf(await read(against))),
      hours: await podHours(api, snapshot.batch.batch, context.signal),
      held: heldAttempts(finish(attemptRows(snapshot.rows)), Date.now()),
      fork: await forkRates(api, snapshot.batch, input.rows, context.signal),
      rescored: await rescoredChanges(api, snapshot.batch, input.rows, context.signal),
    });
  },
};
