/** cancel, pause, resume, retry: commands to a batch or a rollout. */
import { type ControlVerb, control, controlText } from '../../client/commands/control.ts';
import { parseReference } from '../../client/reference.ts';
import { type Command, type Option, oneWord, textOption } from '../command.ts';

const OPTIONS: Readonly<Partial<Record<ControlVerb, Readonly<Record<string, Option>>>>> = {
  cancel: { reason: { type: 'string', value: 'TEXT', text: 'why; told in the record' } },
  pause: {
    'release-pods': {
      type: 'boolean',
      text:
        'keep no pods meanwhile (on this machine: no worker processes); they end once nothing runs, and resume ' +
        'starts them again',
    },
  },
};

function controlCommand(verb: ControlVerb, usage: string, text: string): Command {
  const command: Command = {
    name: verb,
    usage,
    text,
    options: OPTIONS[verb] ?? {},
    async run(context, given) {
      const word = oneWord(command, given);
      parseReference(word); // a wrong one is told before a server is started
      const { api } = await context.connect();
      const done = await control(
        api,
        word,
        verb,
        { reason: textOption(given, 'reason'), release: given.options['release-pods'] === true, by: 'rollout' },
        context.signal,
      );
      if (context.json) context.printJson(done.reply);
      else context.print(controlText(verb, done));
      return 0;
    },
  };
  return command;
}

export const cancel = controlCommand(
  'cancel',
  'BATCH|ROLLOUT',
  'Ends what is queued or running as cancelled. What is recorded stays.',
);
export const pause = controlCommand(
  'pause',
  'BATCH|ROLLOUT',
  'Holds each rollout at its next gate and leases no more.',
);
export const resume = controlCommand('resume', 'BATCH|ROLLOUT', 'Goes on with what was paused.');
export const retry = controlCommand(
  'retry',
  'BATCH',
  'Queues new tries for attempts that nothing settled (cancelled, infrastructure). Never for failed ones.',
);
