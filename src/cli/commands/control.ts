/** cancel, pause, resume, retry: commands to a batch or a rollout. */
import { control, controlText, type ControlVerb } from '../../client/commands/control.ts';
import { parseReference } from '../../client/reference.ts';
import { oneWord, textOption, type Command } from '../command.ts';

function controlCommand(verb: ControlVerb, usage: string, text: string): Command {
  const command: Command = {
    name: verb,
    usage,
    text,
    options: verb === 'cancel' ? { reason: { type: 'string', value: 'TEXT', text: 'why; told in the record' } } : {},
    async run(context, given) {
      const word = oneWord(command, given);
      parseReference(word); // a wrong one is told before a server is started
      const { api } = await context.connect();
      const done = await control(api, word, verb, { reason: textOption(given, 'reason'), by: 'rollout' }, context.signal);
      if (context.json) context.printJson(done.reply);
      else context.print(controlText(verb, done));
      return 0;
    },
  };
  return command;
}

export const cancel = controlCommand('cancel', 'BATCH|ROLLOUT', 'Ends what is queued or running as cancelled. What is recorded stays.');
export const pause = controlCommand('pause', 'BATCH|ROLLOUT', 'Holds each rollout at its next gate and leases no more.');
export const resume = controlCommand('resume', 'BATCH|ROLLOUT', 'Goes on with what was paused.');
export const retry = controlCommand('retry', 'BATCH', 'Queues new tries for attempts that nothing settled (cancelled, infrastructure). Never for failed ones.');
