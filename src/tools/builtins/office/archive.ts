/** The zip archives that office documents are. */
import { unzipSync, zipSync } from 'fflate';
import { ClassedError } from '../../../trace/classedError.ts';

/** More than this unpacked is no document somebody wrote, but an archive made to fill a memory. */
const MAX_UNPACKED = 256 * 1024 * 1024;

export type Parts = Record<string, Uint8Array>;

/**
 * The files in it by their names. Throws ClassedError `tool_error`; `what` is what it should be, e.g. `an .xlsx file`.
 */
export function unpacked(bytes: Uint8Array, what: string): Parts {
  let total = 0;
  try {
    return unzipSync(bytes, {
      filter: ({ originalSize }) => {
        total += originalSize;
        if (total > MAX_UNPACKED)
          throw new ClassedError('tool_error', `Unpacked, this file has more than ${MAX_UNPACKED} bytes.`);
        return true;
      },
    });
  } catch (error) {
    if (error instanceof ClassedError) throw error;
    throw new ClassedError(
      'tool_error',
      `This is not ${what}: it cannot be unpacked (${error instanceof Error ? error.message : String(error)}).`,
      { cause: error },
    );
  }
}

export function packed(parts: Parts): Uint8Array {
  return zipSync(parts);
}

/** The text of a part; undefined when there is none of this name. */
export function partText(parts: Parts, name: string): string | undefined {
  const bytes = parts[name];
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}
