import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

export const QUALITY = {
  /** The highest. */
  released: 11,
  /** Takes a second; the file is a seventh larger. */
  quick: 5,
} as const;

/** Size of esbuild as WebAssembly in a release, to check the size of a .vsix that was compressed quickly. */
export const RELEASED_ESBUILD = { version: '0.28.2', bytes: 2_678_528 } as const;

/**
 * Compresses a file with Brotli; with the quality of a release, it is a quarter smaller than in a zip. It takes half a
 * minute, so the result is kept in `cache` until the file changes.
 */
export async function compressed(file: string, cache: string, quality: number): Promise<Buffer> {
  const bytes = readFileSync(file);
  const cached = path.join(cache, `${createHash('sha256').update(bytes).digest('hex')}.${quality}.br`);
  if (existsSync(cached)) return readFileSync(cached);
  const small = await promisify(brotliCompress)(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
  mkdirSync(cache, { recursive: true });
  // Another build may write it too: either file is complete.
  const temporary = `${cached}.${process.pid}`;
  writeFileSync(temporary, small);
  renameSync(temporary, cached);
  return small;
}
