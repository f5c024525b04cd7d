import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { type Command, flag, oneWord, textOptions } from '../command.ts';

const EVERYONE = 'everyone';

export const share: Command = {
  name: 'share',
  usage: 'BATCH --with USER|everyone | --only-me',
  text:
    'Shares a batch that you launched in a cluster: with users, who then read it, or with everybody who may read. ' +
    'Values of `${env:…}` are never shared.',
  options: {
    with: { type: 'string', multiple: true, value: 'USER', text: 'a user of the cluster, or everyone; repeatable' },
    'only-me': { type: 'boolean', text: 'take back what was shared' },
  },
  async run(context, commandLine) {
    const batch = oneWord(share, commandLine);
    const users = textOptions(commandLine, 'with');
    const onlyMe = flag(commandLine, 'only-me');
    if (onlyMe === users.length > 0) throw new StudioError('usage', `usage: rollout share ${share.usage}`);
    const args = onlyMe ? { only_me: true } : users.includes(EVERYONE) ? { everyone: true } : { with: users };
    const { api } = await context.connect();
    const reply = await api.commandBatch(
      batch,
      { command: newId('c'), verb: 'share', args, by: 'rollout' },
      context.signal,
    );
    if (context.json) context.printJson(reply);
    else context.print(reply.text ?? `Shared ${batch}.`);
    return 0;
  },
};
