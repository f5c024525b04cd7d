import { planFidelity } from '../../../client/fidelity/plan.ts';
import { readFidelity } from '../../../client/fidelity/readReport.ts';
import { launch } from '../../../client/launch.ts';
import { estimateText, fidelityText } from '../../../client/text/fidelityText.ts';
import { StudioError } from '../../../common/errors.ts';
import { plural } from '../../../common/text.ts';
import { percent } from '../../../common/units.ts';
import { type CommandLine, flag, numberOption, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';
import { followBatch } from '../../follow.ts';

/** Calls that are listed, without --json. */
const WORST = 20;
const ALL = 1_000_000;

/** Measures how well a world predicts recorded calls, as a batch. */
export async function fidelity(
  context: Context,
  references: readonly string[],
  commandLine: CommandLine,
): Promise<Outcome> {
  const world = textOption(commandLine, 'world');
  if (references.length === 0 || world === undefined)
    throw new StudioError('usage', 'Name the recordings, and the world to compare with them.', {
      hint: 'rollout world fidelity BATCH --world FILE',
    });
  const bar = barOf(textOption(commandLine, 'fail-under'));
  const connection = await context.connect();
  const plan = await planFidelity(
    connection.api,
    {
      references,
      world,
      free: flag(commandLine, 'free'),
      judge: textOption(commandLine, 'judge'),
      most: numberOption(commandLine, 'most', 1),
    },
    context,
    context.signal,
  );
  for (const warning of plan.warnings) context.log(warning);
  if (flag(commandLine, 'estimate')) {
    if (context.json) context.printJson({ rollouts: plan.rollouts, ...plan.estimate });
    else context.print(`${plural(plan.rollouts, 'rollout')}, ${estimateText(plan.estimate)}`);
    return 0;
  }
  context.log(`${plural(plan.rollouts, 'rollout')}, ${estimateText(plan.estimate)} (estimated)`);
  const batch = await launch(connection.api, plan, { signal: context.signal });
  if (flag(commandLine, 'detach')) {
    if (context.json) context.printJson({ batch, rollouts: plan.rollouts, estimate: plan.estimate });
    else context.print(batch);
    return 0;
  }
  context.log(`batch ${batch}`);
  return await followBatch(context, connection, batch, {
    report: async () => {
      const report = await readFidelity(
        connection.api,
        batch,
        context.json ? ALL : WORST,
        new AbortController().signal,
      );
      if (context.json) context.printJson(report);
      else context.print(fidelityText(report));
      if (bar === undefined) return 0;
      const { micro } = report.accuracy;
      if (micro !== null && micro >= bar) return 0;
      context.log(`The accuracy is ${micro === null ? 'unknown' : percent(micro)}, below ${percent(bar)}.`);
      return 1;
    },
  });
}

function barOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const bar = Number(text.replace(/^accuracy=/, ''));
  if (text !== '' && bar >= 0 && bar <= 1) return bar;
  throw new StudioError('usage', `--fail-under must be an accuracy from 0 to 1, not “${text}”.`);
}
