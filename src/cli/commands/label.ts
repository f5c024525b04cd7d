import { attemptReference, LABELS, labelAttempt, labelText } from '../../client/commands/label.ts';
import { personName } from '../../client/person.ts';
import { StudioError } from '../../common/errors.ts';
import { type Command, textOption } from '../command.ts';

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
    const said = LABELS.find((one) => one === verdict);
    if (word === undefined || said === undefined || more.length > 0)
      throw new StudioError('usage', `usage: rollout label ${label.usage}`);
    const reference = attemptReference(word);
    const { api } = await context.connect();
    const labeled = await labelAttempt(
      api,
      reference,
      {
        label: said,
        note: textOption(commandLine, 'note'),
        by: textOption(commandLine, 'by') ?? personName(context.env),
      },
      context.signal,
    );
    if (context.json) context.printJson(labeled);
    else context.print(labelText(labeled));
    return 0;
  },
};
