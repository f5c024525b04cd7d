import { parseReference, resolveRollout } from '../../client/reference.ts';
import { StudioError } from '../../common/errors.ts';
import { duration } from '../../common/units.ts';
import { changeText, placeText, errorText as traceErrorText, valueText } from '../../trace/text/values.ts';
import { type Command, flag, oneWord, textOption } from '../command.ts';
import { readJsonFile } from '../jsonFile.ts';
import { predict } from './call/predict.ts';

export const call: Command = {
  name: 'call',
  usage:
    'ROLLOUT@SEQ [--arguments FILE] [--recorded-code] [--accept-irreversible] | ' + 'ROLLOUT@SEQ --predict WORLD.yaml',
  text:
    'Runs a recorded tool call again with the current code, in the world as it was before the call. With --predict, ' +
    'a world that a model plays says what the call returns, after the calls before it, and nothing is called. The ' +
    'new call or prediction is not recorded.',
  options: {
    arguments: { type: 'string', value: 'FILE', text: 'JSON file with different arguments' },
    'recorded-code': { type: 'boolean', text: 'use the code that was submitted' },
    'accept-irreversible': { type: 'boolean', text: 'run the tool even if its effects cannot be undone' },
    predict: {
      type: 'string',
      value: 'WORLD.yaml',
      text: 'predict the call with this simulated world; also for a held call, before it is made',
    },
    describe: {
      type: 'boolean',
      text: 'make no call; print the recorded one, the tool’s schema, and the preceding steps as JSON',
    },
  },
  async run(context, commandLine) {
    const reference = parseReference(oneWord(call, commandLine));
    if (reference.kind === 'batch' || reference.point.seq === undefined)
      throw new StudioError('usage', 'A call is referenced by the event that starts it.', {
        hint: 'Use ROLLOUT@SEQ or BATCH/TASK/ATTEMPT@SEQ. List calls with rollout tools BATCH --calls TOOL.',
      });
    const file = textOption(commandLine, 'arguments');
    const args = file === undefined ? undefined : readJsonFile(context.cwd, file);
    const { api } = await context.connect();
    const world = textOption(commandLine, 'predict');
    if (world !== undefined) {
      if (
        flag(commandLine, 'recorded-code') ||
        flag(commandLine, 'accept-irreversible') ||
        flag(commandLine, 'describe')
      )
        throw new StudioError('usage', '--predict makes no call, so it can be combined only with --arguments.');
      const rollout = await resolveRollout(api, reference, context.signal);
      return await predict(context, { rollout, seq: reference.point.seq, world, arguments: args });
    }
    const [{ readCall }, { callForm, rerun }] = await Promise.all([
      import('../../rerun/recordedCall.ts'),
      import('../../rerun/rerun.ts'),
    ]);
    const recorded = await readCall(
      api,
      await resolveRollout(api, reference, context.signal),
      reference.point.seq,
      context.env,
      context.signal,
    );
    const options = { code: flag(commandLine, 'recorded-code') ? 'recorded' : 'now', folder: context.cwd } as const;
    const { submission, observed: _, ...recordedCall } = recorded;
    if (flag(commandLine, 'describe')) {
      const form = await callForm(api, recorded, options, context.signal);
      const modules = {
        tools: submission.agent.tools.flatMap((entry) => (entry.kind === 'module' ? [entry.module] : [])),
        world: submission.world?.kind === 'module' ? submission.world.module : undefined,
      };
      context.printJson({ ...recordedCall, ...form, modules });
      return 0;
    }
    const result = await rerun(
      api,
      recorded,
      {
        ...options,
        ...(args === undefined ? {} : { arguments: args }),
        acceptIrreversible: flag(commandLine, 'accept-irreversible'),
      },
      context.signal,
    );
    if (context.json) {
      context.printJson({ ...result, recorded: recordedCall });
      return 0;
    }
    if (result.log !== '') context.log(result.log.trimEnd());
    for (const note of result.notes) context.log(note);
    for (const change of result.changes ?? []) context.print(`± ${changeText(change)}`);
    context.print(
      result.error === undefined
        ? valueText(result.result ?? null, true)
        : [`✗ ${traceErrorText(result.error)}`, result.error.stack ?? placeText(result.error) ?? '']
            .join('\n')
            .trimEnd(),
    );
    const comparison =
      result.same === null
        ? recorded.notMade === undefined
          ? 'different arguments than recorded'
          : 'not made in the rollout'
        : result.same
          ? 'same as recorded'
          : `recorded${recorded.provenance.length === 0 ? '' : ` (${recorded.provenance.join(', ')})`}: ` +
            (recorded.error === undefined ? valueText(recorded.result ?? null) : traceErrorText(recorded.error));
    context.log(
      `${duration(result.ms)}${recorded.ms === undefined ? '' : `, recorded ${duration(recorded.ms)}`} · ${comparison}`,
    );
    return 0;
  },
};
