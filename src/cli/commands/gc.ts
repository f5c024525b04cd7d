import { resolveBatch } from '../../client/reference.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { bytes } from '../../common/units.ts';
import type { GcResult } from '../../protocol/api.ts';
import { type Command, flag, textOption } from '../command.ts';

const AGE = /^(\d+)([dhm])$/;
const UNIT_MS = { d: 86_400_000, h: 3_600_000, m: 60_000 } as const;

export const gc: Command = {
  name: 'gc',
  usage: '[BATCH…] [--older-than 30d] [--trim] [--dry-run]',
  text:
    'Removes ended batches and unreferenced blobs: those named, those of --older-than, or, with neither, those of ' +
    'the rules of the server (--retention). With --trim, it drops only their trajectories, for good, and keeps their ' +
    'results. Batches that a fork depends on are kept.',
  options: {
    'older-than': { type: 'string', value: 'AGE', text: 'remove ended batches older than this: 30d, 12h, 90m' },
    trim: { type: 'boolean', text: 'drop only the trajectories of these batches: events, prompts, output, and tokens' },
    'dry-run': { type: 'boolean', text: 'only print what would be removed' },
  },
  async run(context, commandLine) {
    const age = textOption(commandLine, 'older-than');
    const match = age === undefined ? null : AGE.exec(age);
    if (age !== undefined && match === null)
      throw new StudioError('usage', `--older-than must be an age such as 30d, 12h, or 90m, not “${age}”.`);
    if (flag(commandLine, 'trim') && commandLine.words.length === 0 && match === null)
      throw new StudioError('usage', 'Name the batches to trim, or add --older-than.', {
        hint: 'What the rules of the server trim is in its file: see `keep_trajectories`.',
      });
    const { api } = await context.connect();
    const batches = await Promise.all(commandLine.words.map((word) => resolveBatch(api, word, context.signal)));
    const result = await api.gc(
      {
        dry_run: flag(commandLine, 'dry-run'),
        ...(match === null ? {} : { older_than_ms: Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] }),
        ...(batches.length === 0 ? {} : { batches }),
        ...(flag(commandLine, 'trim') ? { trim: true } : {}),
        ...(batches.length === 0 && match === null ? { rules: true } : {}),
      },
      context.signal,
    );
    if (context.json) {
      context.printJson(result);
      return 0;
    }
    context.print(summary(result, flag(commandLine, 'dry-run'), flag(commandLine, 'trim')));
    for (const { batch, why, bytes: size, trim } of result.why ?? [])
      context.print(`${batch} (${trim === true ? 'trajectories, ' : ''}${bytes(size)}): ${why}`);
    for (const kept of result.kept) context.print(`Kept ${kept.batch}: ${kept.why}`);
    return 0;
  },
};

/** `Removed 2 batches and 5 blobs, and trimmed 1 batch (3 MB).` Without batches to remove, only what was trimmed. */
function summary({ batches, trimmed, blobs, bytes: size }: GcResult, isDry: boolean, isTrim: boolean): string {
  const trims = plural(trimmed.length, 'batch', 'batches');
  const content = plural(blobs, 'blob');
  const about = isDry && trimmed.length > 0 ? 'about ' : '';
  const freed = `(${about}${bytes(size)})`;
  if (isTrim) return `${isDry ? 'Would trim' : 'Trimmed'} ${trims}, and remove${isDry ? '' : 'd'} ${content} ${freed}.`;
  const removed = `${isDry ? 'Would remove' : 'Removed'} ${plural(batches.length, 'batch', 'batches')} and ${content}`;
  const also = trimmed.length === 0 ? '' : `, and ${isDry ? 'trim' : 'trimmed'} ${trims}`;
  return `${removed}${also} ${freed}.`;
}
