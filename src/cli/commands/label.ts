import { personName } from '../../client/person.ts';
import { parseReference, resolveRollout } from '../../client/reference.ts';
import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { type Command, textOption } from '../command.ts';

/** `none` withdraws a label. */
const LABELS: Readonly<Record<string, boolean | null>> = { passed: true, failed: false, none: null };

export const label: Command = {
  name: 'label',
  usage: 'ROLLOUT passed|failed|none [--note TEXT] [--by NAME]',
  text:
    'Records your verdict on an attempt, next to its reward and the verdicts of other scorers. `none` withdraws it. ' +
    'See how far all of them agree with rollout agreement.',
  options: {
    note: { type: 'string', value: 'TEXT', text: 'why' },
    by: { type: 'string', value: 'NAME', text: 'your name (ROLLOUT_USER, or the name of your account)' },
  },
  async run(context, commandLine) {
    const [word, verdict, ...more] = commandLine.words;
    const passed = verdict !== undefined && Object.hasOwn(LABELS, verdict) ? LABELS[verdict] : undefined;
    if (word === undefined || passed === undefined || more.length > 0)
      throw new StudioError('usage', `usage: rollout label ${label.usage}`);
    const reference = parseReference(word);
    if (reference.kind === 'batch')
      throw new StudioError('usage', 'A label belongs to an attempt, not to a batch.', {
        hint: 'Use ROLLOUT or BATCH/TASK/ATTEMPT.',
      });
    const { api } = await context.connect();
    const rollout = await resolveRollout(api, reference, context.signal);
    const { row } = await api.rollout(rollout, context.signal);
    const note = textOption(commandLine, 'note');
    const by = textOption(commandLine, 'by') ?? personName(context.env);
    const { seq } = await api.commandBatch(
      row.batch,
      {
        command: newId('c'),
        verb: 'label',
        by,
        args: { rollout, passed, ...(note === undefined ? {} : { note }) },
      },
      context.signal,
    );
    if (context.json) context.printJson({ batch: row.batch, rollout, passed, by, seq });
    else
      context.print(
        passed === null
          ? `Withdrew the label of ${by} on rollout ${rollout}.`
          : `Labeled rollout ${rollout} as ${verdict ?? ''} by ${by}.`,
      );
    return 0;
  },
};
