import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { attemptsCsv } from '../../client/attemptsCsv.ts';
import { ExportedAttempts } from '../../client/exportedAttempts.ts';
import { batchId } from '../../client/reference.ts';
import { type GroupCounts, tokenGroups } from '../../client/tokenGroups.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { JsonObject } from '../../common/json.ts';
import { plural } from '../../common/text.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { type Command, oneWord, textOption } from '../command.ts';

const FORMATS = ['csv', 'groups'] as const;

export const exportAttempts: Command = {
  name: 'export',
  usage: 'BATCH [--to csv|groups] [--out FILE]',
  text:
    'Writes the attempts of a batch: as CSV, with outcome, cause, question, answers, reward, steps, tokens, and ' +
    'times; or as groups of token IDs for trainers.',
  options: {
    to: {
      type: 'string',
      value: 'FORMAT',
      text:
        'csv (default), a line for each attempt; or groups: JSON Lines with token IDs, mask, log probabilities, and ' +
        'reward, a line for each segment',
    },
    out: { type: 'string', value: 'FILE', text: 'write to this file instead of stdout' },
  },
  async run(context, commandLine) {
    const format = formatOf(textOption(commandLine, 'to'));
    const { api } = await context.connect();
    const batch = await batchId(api, oneWord(exportAttempts, commandLine), context.signal);
    const counts: GroupCounts = { attempts: 0, rows: 0, running: 0, left_out: {} };
    const exported = new ExportedAttempts(api, batch, context.signal);
    async function* rows(): AsyncGenerator<RolloutRow> {
      for await (const row of exported.rows()) {
        counts.attempts++;
        yield row;
      }
    }
    const content: AsyncIterable<Buffer> =
      format === 'csv'
        ? attemptsCsv(rows(), (row) => exported.complete(row))
        : tokenGroups(api, batch, counts, context.signal);
    const told = (): JsonObject =>
      format === 'csv' ? { attempts: counts.attempts } : { ...counts, left_out: { ...counts.left_out } };
    const out = textOption(commandLine, 'out');
    if (out === undefined) {
      const written = await text(content);
      if (context.json) context.printJson({ batch, ...told(), [format === 'csv' ? 'csv' : 'lines']: written });
      else if (written !== '') context.print(written.trimEnd());
    } else {
      const file = path.resolve(context.cwd, out);
      await writeWhole(file, out, content, context.signal);
      if (context.json) context.printJson({ batch, ...told(), file });
      else
        context.print(
          `${plural(counts.attempts, 'attempt')}${
            format === 'csv' ? '' : ` in ${plural(counts.rows, 'segment')}`
          } written to ${out}.`,
        );
    }
    if (counts.running > 0) context.log(`${plural(counts.running, 'attempt')} left out: not ended yet.`);
    for (const [why, count] of Object.entries(counts.left_out))
      context.log(`${plural(count, 'model call')} left out: ${why}.`);
    return 0;
  },
};

/** Throws StudioError `usage`. */
function formatOf(written = 'csv'): (typeof FORMATS)[number] {
  const format = FORMATS.find((one) => one === written);
  if (format === undefined)
    throw new StudioError('usage', `There is no format ${written}.`, { hint: `Available: ${FORMATS.join(', ')}.` });
  return format;
}

/** Writes a neighboring file first, so that a failed export leaves the previous one. */
async function writeWhole(
  file: string,
  name: string,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const partial = `${file}.${process.pid}.part`;
  try {
    await pipeline(content, createWriteStream(partial, { flags: 'wx' }), { signal });
    await rename(partial, file);
  } catch (cause) {
    await rm(partial, { force: true });
    if (StudioError.is(cause) || signal.aborted) throw cause;
    throw new StudioError('storage', `Cannot write ${name}: ${errorText(cause)}.`, { cause });
  }
}
