/** Office documents are zip archives. */
import { unzipSync, zipSync } from 'fflate';
import { ClassedError } from '../../../trace/classedError.ts';

/** Protects against zip bombs. */
const MAX_UNPACKED = 256 * 1024 * 1024;

export type Parts = Record<string, Uint8Array>;

/**
 * Returns the files in an archive by name. Throws ClassedError `tool_error`; `what` is the expected type, e.g. `an
 * .xlsx file`.
 */
export function unpack(bytes: Uint8Array, what: string): Parts {
  let total = 0;
  try {
    return unzipSync(bytes, {
      filter: ({ originalSize }) => {
        total += originalSize;
        if (total > MAX_UNPACKED)
          throw new ClassedError('tool_error', `The unpacked file is larger than ${MAX_UNPACKED} bytes.`);
        return true;
      },
    });
  } catch (error) {
    if (error instanceof ClassedError) throw error;
    throw new ClassedError(
      'tool_error',
      `This is not ${what}: cannot unpack it (${error instanceof Error ? error.message : String(error)}).`,
      { cause: error },
    );
  }
}

export function pack(parts: Parts): Uint8Array {
  return zipSync(parts);
}

/** Returns the text of a part, if it exists. */
export function partText(parts: Parts, name: string): string | undefined {
  const bytes = parts[name];
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}
