import { type ArchiveFile, verifyArchive } from '../../client/data/archiveFile.ts';
import { backupFile, saveBackup } from '../../client/data/backup.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { bytes, count } from '../../common/units.ts';
import { type Command, oneWord, textOption } from '../command.ts';
import type { Context } from '../context.ts';
import { TransferLine } from '../transferLine.ts';

const WORDS = { save: 'Saved', verify: 'Verified', restore: 'Restored' } as const;

export const backup: Command = {
  name: 'backup',
  usage: 'FILE|DIR | --verify FILE',
  text:
    'Saves the whole store of a server in a file, in one consistent state, while batches run. `rollout restore` ' +
    'restores it in a store of either kind. Values of `${env:…}` and tokens are not in it.',
  options: {
    verify: { type: 'string', value: 'FILE', text: 'check that a backup is complete and unaltered' },
  },
  async run(context, commandLine) {
    const verify = textOption(commandLine, 'verify');
    if (verify !== undefined) {
      if (commandLine.words.length > 0) throw new StudioError('usage', `usage: rollout backup ${backup.usage}`);
      return verified(context, verify);
    }
    const file = await backupFile(oneWord(backup, commandLine));
    const { api } = await context.connect();
    const line = new TransferLine(context.terminal, context.log);
    const saved = await saveBackup(api, file, {
      signal: context.signal,
      onProgress: (what, done, all) => line.update(WORDS[what], done, all),
    });
    const took = line.end(saved.bytes);
    if (context.json) context.printJson(archiveJson(saved));
    else context.print(`Saved ${contents(saved)} in ${file}: ${took}.`);
    return 0;
  },
};

async function verified(context: Context, file: string): Promise<0> {
  const line = new TransferLine(context.terminal, context.log);
  const archive = await verifyArchive(file, {
    signal: context.signal,
    onProgress: (done, all) => line.update(WORDS.verify, done, all),
  });
  line.end(archive.bytes);
  if (context.json) {
    context.printJson(archiveJson(archive));
    return 0;
  }
  const { created_at: at, product, store_version: version } = archive.start;
  context.print(
    `${file} is complete and unaltered: ${contents(archive)}, ${bytes(archive.bytes)}, made on ` +
      `${new Date(at).toISOString()} by ${product} (store version ${version}).`,
  );
  return 0;
}

/** Says what is in a backup. */
export function contents({ start }: ArchiveFile): string {
  return `${plural(start.batches, 'batch', 'batches')} with ${count(start.rollouts)} rollouts`;
}

/** Returns what `--json` prints about a backup. */
export function archiveJson({ file, bytes: size, start, end }: ArchiveFile): Record<string, unknown> {
  return {
    file,
    bytes: size,
    sha256: end.sha256,
    created_at: start.created_at,
    product: start.product,
    store_version: start.store_version,
    batches: start.batches,
    rollouts: start.rollouts,
    rows: end.rows,
  };
}
