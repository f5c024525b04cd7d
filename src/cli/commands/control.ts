/** cancel, pause, resume, retry: commands to a batch or a rollout. */
import { newId } from '../../common/ids.ts';
import { StudioError } from '../../common/errors.ts';
import type { CommandReply } from '../../protocol/commands.ts';
import { oneWord, textOption, type Command, type Given } from '../command.ts';
import type { Context } from '../context.ts';
import { batchId, parseReference, resolveRollout } from '../../client/reference.ts';

type BatchVerb = 'cancel' | 'pause' | 'resume' | 'retry';
type RolloutVerb = 'cancel' | 'hold' | 'release';

/** The same word for one rollout, where it makes sense there. */
const FOR_ROLLOUT: Readonly<Record<BatchVerb, RolloutVerb | undefined>> = { cancel: 'cancel', pause: 'hold', resume: 'release', retry: undefined };

function control(verb: BatchVerb, usage: string, text: string, done: (reply: CommandReply, what: string) => string): Command {
  const command: Command = {
    name: verb,
    usage,
    text,
    options: verb === 'cancel' ? { reason: { type: 'string', value: 'TEXT', text: 'why; told in the record' } } : {},
    async run(context, given) {
      const [reply, what] = await send(context, command, given, verb);
      if (context.json) context.printJson(reply);
      else context.print(reply.text ?? done(reply, what));
      return 0;
    },
  };
  return command;
}

async function send(context: Context, command: Command, given: Given, verb: BatchVerb): Promise<[CommandReply, string]> {
  const word = oneWord(command, given);
  const reference = parseReference(word);
  const { api } = await context.connect();
  const reason = textOption(given, 'reason');
  const args = { command: newId('c'), by: 'rollout', ...(reason === undefined ? {} : { args: { reason } }) };
  if (reference.kind === 'batch') {
    const batch = await batchId(api, reference.batch, context.signal);
    return [await api.commandBatch(batch, { ...args, verb }, context.signal), `batch ${batch}`];
  }
  const rolloutVerb = FOR_ROLLOUT[verb];
  if (rolloutVerb === undefined) throw new StudioError('usage', `${verb} takes a batch, not one rollout.`, { mend: `rollout ${verb} BATCH` });
  const rollout = await resolveRollout(api, reference, context.signal);
  return [await api.commandRollout(rollout, { ...args, verb: rolloutVerb }, context.signal), `rollout ${rollout}`];
}

const changed = (reply: CommandReply): string => (reply.changed === undefined ? '' : ` (${reply.changed})`);

export const cancel = control('cancel', 'BATCH|ROLLOUT', 'Ends what is queued or running as cancelled. What is recorded stays.', (reply, what) => `Cancelled ${what}${changed(reply)}.`);
export const pause = control('pause', 'BATCH|ROLLOUT', 'Holds each rollout at its next gate and leases no more.', (_reply, what) => `Paused ${what}. rollout resume goes on.`);
export const resume = control('resume', 'BATCH|ROLLOUT', 'Goes on with what was paused.', (_reply, what) => `Resumed ${what}.`);
export const retry = control('retry', 'BATCH', 'Queues new tries for attempts that nothing settled (cancelled, infrastructure). Never for failed ones.', (reply, what) => `Queued ${reply.changed ?? 0} new tries in ${what}.`);
