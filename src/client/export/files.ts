/** Writes exported files: next to their target first, so that a failed export leaves what was there before. */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { errorText, StudioError } from '../../common/errors.ts';
import { shortageOf } from '../../common/shortage.ts';

export interface WrittenFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Writes a file, then its manifest, and only then renames both. `name`: of the file, for errors. `manifest` returns the
 * text for what was written; undefined for no manifest. Throws StudioError `storage` if the disk is full or the file
 * cannot be written.
 */
export async function writeExport(
  file: string,
  name: string,
  content: AsyncIterable<Uint8Array>,
  manifest: (written: WrittenFile) => string,
  signal: AbortSignal,
): Promise<WrittenFile> {
  const partial = `${file}.${process.pid}.part`;
  const manifestFile = manifestName(file);
  const partialManifest = `${manifestFile}.${process.pid}.part`;
  try {
    for (const target of [file, manifestFile])
      if ((await stat(target).catch(() => undefined))?.isDirectory() === true)
        throw new StudioError('storage', `Cannot write ${path.basename(target)}: it is a folder.`, {
          hint: 'Choose another name.',
        });
    const hash = createHash('sha256');
    let bytes = 0;
    const counted = async function* (): AsyncGenerator<Uint8Array> {
      for await (const part of content) {
        hash.update(part);
        bytes += part.length;
        yield part;
      }
    };
    await writeTo(partial, counted, signal);
    const written = { name: path.basename(file), bytes, sha256: hash.digest('hex') };
    await writeFile(partialManifest, manifest(written), { flag: 'wx' });
    signal.throwIfAborted();
    await rename(partial, file);
    await rename(partialManifest, manifestFile);
    return written;
  } catch (cause) {
    await Promise.all([rm(partial, { force: true }), rm(partialManifest, { force: true })]);
    if (StudioError.is(cause) || signal.aborted) throw cause;
    throw writeError(name, cause);
  }
}

/** Writes a new file. It is closed when this ends, even with an error: one that is still opened is created later. */
async function writeTo(file: string, content: () => AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  const output = createWriteStream(file, { flags: 'wx' });
  const closed = new Promise<void>((resolve) => output.once('close', resolve));
  try {
    await pipeline(content, output, { signal });
  } finally {
    await closed;
  }
}

/** Returns `rows.manifest.json` for `rows.jsonl`. */
export function manifestName(file: string): string {
  const { dir, name } = path.parse(file);
  return path.join(dir, `${name}.manifest.json`);
}

function writeError(name: string, cause: unknown): StudioError {
  const shortage = shortageOf(cause);
  if (shortage === 'ENOSPC' || shortage === 'EDQUOT')
    return new StudioError('storage', `Cannot write ${name}: the disk is full.`, {
      hint: 'Nothing was written. Make room, or export less: see the selection options of rollout export.',
      cause,
    });
  return new StudioError('storage', `Cannot write ${name}: ${errorText(cause)}.`, { cause });
}
