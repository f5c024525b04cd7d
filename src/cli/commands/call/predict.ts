/** `rollout call --predict`: what a world predicts for a call, next to what the agent got. */
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../../common/json.ts';
import { plural } from '../../../common/text.ts';
import { compact, duration } from '../../../common/units.ts';
import type { Prediction } from '../../../rerun/predictCall.ts';
import { differenceText, partsText, placeLines } from '../../../trace/prediction/text.ts';
import { errorText, valueText } from '../../../trace/text/values.ts';
import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { modelAsker } from '../../sideModels.ts';

interface CallToPredict {
  readonly rollout: string;
  readonly seq: number;
  /** The world file. */
  readonly world: string;
  /** Replaces the arguments of the call. */
  readonly arguments: Json | undefined;
}

/** Returns 1 if the world did not answer. */
export async function predict(context: Context, { rollout, seq, ...of }: CallToPredict): Promise<Outcome> {
  const { api } = await context.connect();
  const { predictCall } = await import('../../../rerun/predictCall.ts');
  const { cwd, env, log, signal } = context;
  const ask = modelAsker(context, rollout);
  const print = (text: string): void => log(text.trimEnd());
  const predicted = await predictCall(api, rollout, seq, { ...of, cwd, env, ask, print }, signal);
  if (context.json) context.printJson(predicted);
  else show(context, predicted);
  return predicted.error === undefined ? 0 : 1;
}

function show({ print, log }: Context, predicted: Prediction): void {
  const { prediction, error, thinking, real, difference, edited, world, before, asked, usage, ms } = predicted;
  print(`Predicted by ${world.name} (${world.model ?? 'recorded'}):`);
  print(error === undefined ? valueText(prediction ?? null, true) : `✗ ${errorText(error)}`);
  if (thinking !== undefined) print(`\nIts thinking:\n${thinking.trim()}`);
  if (real !== undefined) {
    const isSame = prediction !== undefined && isDeepStrictEqual(prediction, real);
    print(`\nRecorded:${isSame ? ' the same' : `\n${valueText(real, true)}`}`);
  }
  if (difference !== undefined) {
    print(`\nDifference: ${differenceText(difference)} (${partsText(difference.parts)})`);
    for (const line of placeLines(difference)) print(line);
  }
  const tokens =
    usage === undefined
      ? ''
      : ` · ${compact(usage.input_tokens)} tokens in, ${compact(usage.output_tokens)} out` +
        (usage.cached_tokens === undefined ? '' : `, ${compact(usage.cached_tokens)} cached`);
  log(`${duration(ms)} · after ${plural(before, 'earlier call')} · ${plural(asked, 'model call')}${tokens}`);
  if (edited === true) log('Different arguments than recorded, so there is nothing to compare with.');
  else if (real === undefined) log('The call has no result to compare with.');
  log('The prediction is not recorded.');
}
