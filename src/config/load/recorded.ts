/** Reads what a world file with `kind: recorded` names. */
import type { WorldFile } from '../schema/worldFile.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import type { Reading } from './reading.ts';

/** A reference to recorded rollouts, or the absolute path of a file, and where it is written. */
export type RecordingSource = { readonly at: Path } & ({ readonly ref: string } | { readonly path: string });

/** The ID of a batch or rollout, and what follows it in a reference. */
const REFERENCE = /^[br][0-9a-z]{17}(\/.+)?$/;

/** Returns undefined, after reporting why, if the world cannot run. */
export async function readSources(
  reading: Reading,
  parsed: ParsedFile,
  { from, tools = [] }: Partial<WorldFile>,
): Promise<readonly RecordingSource[] | undefined> {
  let complete = true;
  for (const [index, entry] of tools.entries()) {
    if (typeof entry === 'string') continue;
    complete = false;
    reading.report(parsed, ['tools', index], {
      code: 'value',
      message: 'a recorded world has the tools of its recordings',
      hint: 'Write the name of one of them.',
    });
  }
  if (from === undefined) {
    if (!parsed.has(['from']))
      reading.report(parsed, [], {
        code: 'missing',
        message: '`from` is missing',
        hint: 'Add `from:` with a list of batches, tasks, attempts, rollouts, or files.',
      });
    return undefined;
  }
  if (from.length === 0)
    reading.report(parsed, ['from'], {
      code: 'value',
      message: 'a recorded world needs a recording',
      hint: 'Add a batch, a task, an attempt, a rollout, or a file.',
    });
  const sources: RecordingSource[] = [];
  for (const [index, written] of (typeof from === 'string' ? [from] : from).entries()) {
    const at: Path = typeof from === 'string' ? ['from'] : ['from', index];
    const source = await sourceOf(reading, parsed, at, written);
    if (source !== undefined) sources.push(source);
    else complete = false;
  }
  return complete && sources.length > 0 ? sources : undefined;
}

async function sourceOf(
  reading: Reading,
  parsed: ParsedFile,
  at: Path,
  written: string,
): Promise<RecordingSource | undefined> {
  if (REFERENCE.test(written)) return { at, ref: written };
  if (/^last($|\/)/.test(written)) {
    reading.report(parsed, at, {
      code: 'value',
      message: '`last` is another batch after each run',
      hint: 'Write the ID of the batch. `rollout batches` lists them.',
    });
    return undefined;
  }
  const path = await reading.locate(parsed, at, written);
  return path === undefined ? undefined : { at, path: reading.files.absolute(path) };
}
