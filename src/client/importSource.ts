/** Reads a file to import piece by piece, since it can be larger than memory. */
import { createHash } from 'node:crypto';
import { StudioError } from '../common/errors.ts';
import { jsonArrayRecords } from '../config/dataset/jsonArray.ts';
import { TOO_LONG } from '../config/dataset/record.ts';
import { NotUtf8 } from '../config/dataset/text.ts';
import type { SourceElement } from '../formats/format.ts';
import { regularBytes } from './disk.ts';

/** Longest element, in UTF-16 units. It is held in memory twice: as text, and parsed. */
const ELEMENT_LIMIT = 256 * 1024 * 1024;

/** A file, and the hash of what was read last. */
export class HashedFile {
  readonly #file: string;
  readonly #signal: AbortSignal | undefined;
  #sha = '';

  constructor(file: string, signal?: AbortSignal) {
    this.#file = file;
    this.#signal = signal;
  }

  /** SHA-256 of the content when it was last read to its end. */
  get sha(): string {
    return this.#sha;
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    for await (const chunk of regularBytes(this.#file, this.#file)) {
      if (this.#signal?.aborted === true) throw new StudioError('cancelled', 'The import was cancelled.');
      hash.update(chunk);
      yield chunk;
    }
    this.#sha = hash.digest('hex');
  }
}

/** Yields the elements of a JSON array. Throws StudioError `usage`, with line and column, if it is none. */
export async function* elementsOf(name: string, file: Pick<HashedFile, 'bytes'>): AsyncGenerator<SourceElement> {
  try {
    for await (const record of jsonArrayRecords(file.bytes(), ELEMENT_LIMIT)) {
      if ('value' in record) yield { value: record.value };
      else if (record.error === TOO_LONG) yield { why: 'it is longer than 256 MiB' };
      else throw notReadable(`${name}:${record.line}:${record.column}: ${record.error.message}`, record.error.hint);
    }
  } catch (thrown) {
    if (!(thrown instanceof NotUtf8)) throw thrown;
    throw notReadable(`${name}:${thrown.line}: the file is not UTF-8 text`, 'Save the file with UTF-8 encoding.');
  }
}

function notReadable(text: string, hint: string): StudioError {
  return new StudioError('usage', `${text}.`, { hint });
}
