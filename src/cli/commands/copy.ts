import { type CopiedBatch, copyBatch } from '../../client/data/copyBatch.ts';
import { resolveBatch } from '../../client/reference.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { type Command, flag, textOption } from '../command.ts';
import { TransferLine } from '../transferLine.ts';

export const copy: Command = {
  name: 'copy',
  usage: 'BATCH… --to TARGET [--from TARGET]',
  text:
    'Copies ended batches to another target, with all rollouts, labels, and verdicts, under the same IDs. A batch ' +
    'that is there is skipped, and an interrupted copy continues when it is run again.',
  options: {
    to: { type: 'string', value: 'TARGET', text: 'where to copy them: local, or a target from `rollout target list`' },
    from: { type: 'string', value: 'TARGET', text: 'where they are; the target of --target by default' },
    'keep-owner': {
      type: 'boolean',
      text: 'leave them to their owners, shared as they are; for administrators of the destination',
    },
  },
  async run(context, commandLine) {
    const to = textOption(commandLine, 'to');
    if (to === undefined || commandLine.words.length === 0)
      throw new StudioError('usage', `usage: rollout copy ${copy.usage}`);
    const from = textOption(commandLine, 'from') ?? context.target ?? LOCAL;
    if (from === to)
      throw new StudioError('usage', `The batches are at ${to} already.`, {
        hint: 'Name another target with --to, or where they are with --from.',
      });
    const [source, destination] = [await context.connect(from), await context.connect(to)];
    const { signal } = context;
    const batches = await Promise.all(commandLine.words.map((word) => resolveBatch(source.api, word, signal)));
    const line = new TransferLine(context.terminal, context.log);
    let finished = 0;
    const copied: CopiedBatch[] = [];
    for (const batch of new Set(batches)) {
      if (copied.some((one) => one.batch === batch)) continue;
      const results = await copyBatch(batch, {
        from: source.api,
        to: destination.api,
        keepOwner: flag(commandLine, 'keep-owner'),
        signal,
        onProgress: (name, done) => line.update(`Copying ${name}:`, finished + done),
      }).catch((error: unknown) => {
        if (StudioError.is(error, 'unavailable') && !signal.aborted)
          throw new StudioError('unavailable', error.message, {
            hint: 'Run the same command again: the copy continues where it stopped.',
            cause: error,
          });
        throw error;
      });
      for (const one of results) {
        if (copied.some(({ batch: name }) => name === one.batch)) continue;
        copied.push(one);
        finished += one.bytes;
      }
    }
    const took = line.end(finished);
    if (context.json) {
      context.printJson({ from, to, copied });
      return 0;
    }
    for (const { batch, how } of copied) if (how === 'present') context.print(`Batch ${batch} is at ${to} already.`);
    const moved = copied.filter(({ how }) => how !== 'present');
    if (moved.length > 0)
      context.print(
        `Copied ${plural(moved.length, 'batch', 'batches')} to ${to}: ${moved.map(({ batch }) => batch).join(', ')} ` +
          `(${took}).`,
      );
    return 0;
  },
};
