import { sharesText } from '../../client/text/sharesText.ts';
import { StudioError } from '../../common/errors.ts';
import type { Command } from '../command.ts';

export const queue: Command = {
  name: 'queue',
  usage: '',
  text:
    'Shows how the server divides what it has among queues and users: weights, limits, what each uses, and which ' +
    'batches wait, at which position, and why.',
  options: {},
  async run(context, commandLine) {
    if (commandLine.words.length > 0)
      throw new StudioError('usage', 'usage: rollout queue [--target NAME]', {
        hint: 'The queue of a batch is set with `queue` in its file.',
      });
    const { api } = await context.connect();
    const shares = await api.shares(context.signal);
    if (context.json) context.printJson(shares);
    else context.print(sharesText(shares));
    return 0;
  },
};
