import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { attemptsCsv } from '../../client/attemptsCsv.ts';
import { ExportedAttempts } from '../../client/exportedAttempts.ts';
import { batchId } from '../../client/reference.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { type Command, oneWord, textOption } from '../command.ts';

export const exportAttempts: Command = {
  name: 'export',
  usage: 'BATCH [--out FILE]',
  text: 'Writes the attempts of a batch as CSV: outcome, cause, question, answers, reward, steps, tokens, and times.',
  options: { out: { type: 'string', value: 'FILE', text: 'write to this file instead of stdout' } },
  async run(context, commandLine) {
    const { api } = await context.connect();
    const batch = await batchId(api, oneWord(exportAttempts, commandLine), context.signal);
    let attempts = 0;
    const exported = new ExportedAttempts(api, batch, context.signal);
    async function* rows(): AsyncGenerator<RolloutRow> {
      for await (const row of exported.rows()) {
        attempts++;
        yield row;
      }
    }
    const csvOf = (): AsyncIterable<Buffer> => attemptsCsv(rows(), (row) => exported.complete(row));
    const out = textOption(commandLine, 'out');
    if (out === undefined) {
      const csv = await text(csvOf());
      if (context.json) context.printJson({ batch, attempts, csv });
      else context.print(csv.trimEnd());
      return 0;
    }
    const file = path.resolve(context.cwd, out);
    await writeWhole(file, out, csvOf(), context.signal);
    if (context.json) context.printJson({ batch, attempts, file });
    else context.print(`${plural(attempts, 'attempt')} written to ${out}.`);
    return 0;
  },
};

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
