import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

export const QUALITY = {
  /** From here on the next step makes little smaller and takes three times as long. */
  released: 10,
  /** Takes a second. The file is a seventh larger. */
  quick: 5,
} as const;

/** esbuild as WebAssembly with the quality of a release, so that a quickly made .vsix can be held against the budget. */
export const RELEASED_ESBUILD = { version: '0.28.2', bytes: 2_778_308 } as const;

/**
 * The file in Brotli's format, with the quality of a release a quarter smaller than in a zip. That takes half a minute,
 * so the result is kept in `cache` until the file is another.
 */
export async function squeezed(file: string, cache: string, quality: number): Promise<Buffer> {
  const bytes = readFileSync(file);
  const kept = path.join(cache, `${createHash('sha256').update(bytes).digest('hex')}.${quality}.br`);
  if (existsSync(kept)) return readFileSync(kept);
  const small = await promisify(brotliCompress)(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
  mkdirSync(cache, { recursive: true });
  // Another build may write it too: either is whole.
  const own = `${kept}.${process.pid}`;
  writeFileSync(own, small);
  renameSync(own, kept);
  return small;
}
