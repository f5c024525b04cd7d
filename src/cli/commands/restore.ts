import { restoreBackup } from '../../client/data/backup.ts';
import { plural } from '../../common/text.ts';
import { count } from '../../common/units.ts';
import { type Command, flag, oneWord } from '../command.ts';
import { TransferLine } from '../transferLine.ts';
import { archiveJson } from './backup.ts';

export const restore: Command = {
  name: 'restore',
  usage: 'FILE [--resume]',
  text:
    'Restores a backup into an empty store: that of --store, or of the server of --target. Batches that had not ' +
    'ended are paused, because their original may still run. An interrupted restore continues when it is run again.',
  options: {
    resume: { type: 'boolean', text: 'let batches that had not ended continue, because their original is gone' },
  },
  async run(context, commandLine) {
    const file = oneWord(restore, commandLine);
    const { api } = await context.connect();
    const line = new TransferLine(context.terminal, context.log);
    const { archive, result } = await restoreBackup(api, file, {
      resume: flag(commandLine, 'resume'),
      signal: context.signal,
      onProgress: (what, done, all) => line.update(what === 'restore' ? 'Restored' : 'Verified', done, all),
    });
    const took = line.end(archive.bytes);
    if (context.json) {
      context.printJson({ ...archiveJson(archive), ...result });
      return 0;
    }
    context.print(
      `Restored ${plural(result.batches, 'batch', 'batches')} with ${count(result.rollouts)} rollouts: ${took}.`,
    );
    if (result.unfinished.length > 0)
      context.print(
        flag(commandLine, 'resume')
          ? `These batches continue: ${result.unfinished.join(', ')}.`
          : `These batches had not ended, and are paused: ${result.unfinished.join(', ')}. To continue one here, run ` +
              '“rollout resume BATCH” where its variables are set.',
      );
    return 0;
  },
};
