/** The `cancel`, `pause`, `resume`, and `retry` commands. */
import { type ControlVerb, control, controlText } from '../../client/commands/control.ts';
import { retryNotice } from '../../client/launchNotice.ts';
import { batchId, parseReference } from '../../client/reference.ts';
import { type Command, type Option, oneWord, textOption } from '../command.ts';

const OPTIONS: Readonly<Partial<Record<ControlVerb, Readonly<Record<string, Option>>>>> = {
  cancel: { reason: { type: 'string', value: 'TEXT', text: 'reason to record' } },
  pause: {
    'release-pods': {
      type: 'boolean',
      text: 'end the pods (locally: the worker processes) once nothing runs; resume starts them again',
    },
  },
};

function controlCommand(verb: ControlVerb, usage: string, text: string): Command {
  const command: Command = {
    name: verb,
    usage,
    text,
    options: OPTIONS[verb] ?? {},
    async run(context, commandLine) {
      const word = oneWord(command, commandLine);
      const reference = parseReference(word); // fail early, before a server starts
      const { api } = await context.connect();
      const notice =
        verb === 'retry' && reference.kind === 'batch'
          ? await retryNotice(api, await batchId(api, reference.batch, context.signal))
          : undefined;
      const done = await control(
        api,
        word,
        verb,
        {
          reason: textOption(commandLine, 'reason'),
          release: commandLine.options['release-pods'] === true,
          by: 'rollout',
          env: context.env,
        },
        context.signal,
      );
      if (context.json) context.printJson(done.reply);
      else context.print(controlText(verb, done));
      const text = notice?.(done.reply.changed ?? 0);
      if (text !== undefined) context.log(text);
      return 0;
    },
  };
  return command;
}

export const cancel = controlCommand(
  'cancel',
  'BATCH|ROLLOUT',
  'Cancels queued and running rollouts. Their recorded events are kept.',
);
export const pause = controlCommand(
  'pause',
  'BATCH|ROLLOUT',
  'Holds each running rollout before its next call and starts no more.',
);
export const resume = controlCommand(
  'resume',
  'BATCH|ROLLOUT',
  'Resumes a paused batch or rollout. Sends the values of `${env:…}` again if the server has lost them.',
);
export const retry = controlCommand(
  'retry',
  'BATCH',
  'Retries attempts without a result (cancelled or lost to infrastructure). Failed attempts are not retried.',
);
