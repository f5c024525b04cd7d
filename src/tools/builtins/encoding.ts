import { ClassedError } from '../../trace/classedError.ts';

/**
 * Decodes text in UTF-8, UTF-16 with a byte order mark, or otherwise Windows-1252. Throws ClassedError `tool_error` for
 * binary files.
 */
export function textIn(bytes: Buffer): string {
  const mark = bytes.subarray(0, 2).toString('hex');
  if (mark === 'fffe' || mark === 'feff')
    return new TextDecoder(mark === 'fffe' ? 'utf-16le' : 'utf-16be').decode(bytes);
  if (bytes.subarray(0, 8192).includes(0))
    throw new ClassedError('tool_error', `This is not a text file (${bytes.length} bytes).`);
  return utf8In(bytes) ?? new TextDecoder('windows-1252').decode(bytes);
}

/** Decodes UTF-8; returns undefined for other encodings. */
export function utf8In(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
