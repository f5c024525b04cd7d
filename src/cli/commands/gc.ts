import { resolveBatch } from '../../client/reference.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { bytes } from '../../common/units.ts';
import { type Command, flag, textOption } from '../command.ts';

const AGE = /^(\d+)([dhm])$/;
const UNIT_MS = { d: 86_400_000, h: 3_600_000, m: 60_000 } as const;

export const gc: Command = {
  name: 'gc',
  usage: '[BATCH…] [--older-than 30d] [--dry-run]',
  text:
    'Removes ended batches and unreferenced blobs: those named, those of --older-than, or, with neither, those of ' +
    'the rules of the server (--retention). Batches that a fork depends on are kept.',
  options: {
    'older-than': { type: 'string', value: 'AGE', text: 'remove ended batches older than this: 30d, 12h, 90m' },
    'dry-run': { type: 'boolean', text: 'only print what would be removed' },
  },
  async run(context, commandLine) {
    const age = textOption(commandLine, 'older-than');
    const match = age === undefined ? null : AGE.exec(age);
    if (age !== undefined && match === null)
      throw new StudioError('usage', `--older-than must be an age such as 30d, 12h, or 90m, not “${age}”.`);
    const { api } = await context.connect();
    const batches = await Promise.all(commandLine.words.map((word) => resolveBatch(api, word, context.signal)));
    const result = await api.gc(
      {
        dry_run: flag(commandLine, 'dry-run'),
        ...(match === null ? {} : { older_than_ms: Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] }),
        ...(batches.length === 0 ? {} : { batches }),
        ...(batches.length === 0 && match === null ? { rules: true } : {}),
      },
      context.signal,
    );
    if (context.json) {
      context.printJson(result);
      return 0;
    }
    const verb = flag(commandLine, 'dry-run') ? 'Would remove' : 'Removed';
    context.print(
      `${verb} ${plural(result.batches.length, 'batch', 'batches')} and ${plural(result.blobs, 'blob')} ` +
        `(${bytes(result.bytes)}).`,
    );
    for (const { batch, why, bytes: size } of result.why ?? []) context.print(`${batch} (${bytes(size)}): ${why}`);
    for (const kept of result.kept) context.print(`Kept ${kept.batch}: ${kept.why}`);
    return 0;
  },
};
