/**
 * Packs programs for a pod. The format is simple, since a short script unpacks it (unpackScript.ts): one line of JSON,
 * `[[path, bytes], …]`, then the files, all compressed with Brotli.
 */
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { sha256Hex } from '../../common/hash.ts';

export interface ProgramFile {
  /** Relative to the folder of the installation, with `/`: `dist/worker.mjs`. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

export interface Archive {
  /** sha256 of the content before compression: the same programs have the same hash, whatever compresses them. */
  readonly sha: string;
  readonly packed: Buffer;
}

/** The next level takes ten times as long and saves a tenth. */
const QUALITY = 9;

/** Returns the hash that packed files would have. */
export function shaOf(files: readonly ProgramFile[]): string {
  return sha256Hex(joined(files));
}

function joined(files: readonly ProgramFile[]): Buffer {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const head = Buffer.from(`${JSON.stringify(sorted.map(({ path, bytes }) => [path, bytes.length]))}\n`);
  return Buffer.concat([head, ...sorted.map(({ bytes }) => bytes)]);
}

/** Packs files; their order does not matter. */
export async function pack(files: readonly ProgramFile[]): Promise<Archive> {
  const whole = joined(files);
  const packed = await promisify(brotliCompress)(whole, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: whole.length,
    },
  });
  return { sha: sha256Hex(whole), packed };
}
