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
  text: 'Removes ended batches and the blobs nothing names any more. Batches that a fork still reads are kept.',
  options: {
    'older-than': { type: 'string', value: 'AGE', text: 'ended batches older than this: 30d, 12h, 90m' },
    'dry-run': { type: 'boolean', text: 'only tell what would go' },
  },
  async run(context, given) {
    const age = textOption(given, 'older-than');
    const match = age === undefined ? null : AGE.exec(age);
    if (age !== undefined && match === null)
      throw new StudioError('usage', `--older-than takes an age such as 30d, 12h or 90m, not “${age}”.`);
    const { api } = await context.connect();
    const named = await Promise.all(given.words.map((word) => resolveBatch(api, word, context.signal)));
    const result = await api.gc(
      {
        dry_run: flag(given, 'dry-run'),
        ...(match === null ? {} : { older_than_ms: Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] }),
        ...(named.length === 0 ? {} : { batches: named }),
      },
      context.signal,
    );
    if (context.json) {
      context.printJson(result);
      return 0;
    }
    const verb = flag(given, 'dry-run') ? 'Would remove' : 'Removed';
    context.print(
      `${verb} ${plural(result.batches.length, 'batch', 'batches')} and ${plural(result.blobs, 'blob')} ` +
        `(${bytes(result.bytes)}).`,
    );
    for (const kept of result.kept) context.print(`kept ${kept.batch}: ${kept.why}`);
    return 0;
  },
};
