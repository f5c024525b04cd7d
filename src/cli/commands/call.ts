import { parseReference, resolveRollout } from '../../client/reference.ts';
import { StudioError } from '../../common/errors.ts';
import { duration } from '../../common/units.ts';
import { changeText, placeText, errorText as traceErrorText, valueText } from '../../trace/text/values.ts';
import { type Command, flag, oneWord, textOption } from '../command.ts';
import { readJsonFile } from '../jsonFile.ts';

export const call: Command = {
  name: 'call',
  usage: 'ROLLOUT@SEQ [--arguments FILE] [--recorded-code] [--accept-irreversible]',
  text:
    'Makes a recorded tool call again, with the code as it is now, in the world as it was before the call. Nothing ' +
    'of it is recorded.',
  options: {
    arguments: { type: 'string', value: 'FILE', text: 'other arguments: a JSON file' },
    'recorded-code': { type: 'boolean', text: 'with the code that was submitted' },
    'accept-irreversible': { type: 'boolean', text: 'also when the tool may change something that cannot be undone' },
    describe: { type: 'boolean', text: 'make no call: give the recorded one, the tool’s schema and what came before' },
  },
  async run(context, given) {
    const reference = parseReference(oneWord(call, given));
    if (reference.kind === 'batch' || reference.point.seq === undefined)
      throw new StudioError('usage', 'A call is named by the event it starts at.', {
        hint: 'Give ROLLOUT@SEQ or BATCH/TASK/ATTEMPT@SEQ; rollout tools BATCH --calls TOOL lists them.',
      });
    const file = textOption(given, 'arguments');
    const args = file === undefined ? undefined : readJsonFile(context.cwd, file);
    const { api } = await context.connect();
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
    const options = { code: flag(given, 'recorded-code') ? 'recorded' : 'now', folder: context.cwd } as const;
    const { submission, ...told } = recorded;
    if (flag(given, 'describe')) {
      const form = await callForm(api, recorded, options, context.signal);
      const modules = {
        tools: submission.agent.tools.flatMap((entry) => (entry.kind === 'module' ? [entry.module] : [])),
        world: submission.world?.module,
      };
      context.printJson({ ...told, ...form, modules });
      return 0;
    }
    const made = await rerun(
      api,
      recorded,
      {
        ...options,
        ...(args === undefined ? {} : { arguments: args }),
        acceptIrreversible: flag(given, 'accept-irreversible'),
      },
      context.signal,
    );
    if (context.json) {
      context.printJson({ ...made, recorded: told });
      return 0;
    }
    if (made.log !== '') context.tell(made.log.trimEnd());
    for (const note of made.notes) context.tell(note);
    for (const change of made.changes ?? []) context.print(`± ${changeText(change)}`);
    context.print(
      made.error === undefined
        ? valueText(made.result ?? null, true)
        : [`✗ ${traceErrorText(made.error)}`, made.error.stack ?? placeText(made.error) ?? ''].join('\n').trimEnd(),
    );
    const same =
      made.same === null
        ? 'other arguments than recorded'
        : made.same
          ? 'the same as recorded'
          : 'recorded was: ' +
            (recorded.error === undefined ? valueText(recorded.result ?? null) : traceErrorText(recorded.error));
    context.tell(
      `${duration(made.ms)}${recorded.ms === undefined ? '' : `, recorded ${duration(recorded.ms)}`} · ${same}`,
    );
    return 0;
  },
};
