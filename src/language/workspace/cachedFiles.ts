/**
 * The files as the editor sees them: what is open comes first, all else is read once and remembered until somebody
 * says that it changed. So a check after a keystroke touches no disk.
 */
import { StudioError } from '../../common/errors.ts';
import type { Files } from '../../config/files.ts';
import { dirname } from '../../config/paths.ts';

/** Of a dataset so much is remembered: more than its first records are not looked at while one types. */
const HEAD_BYTES = 256 * 1024;

interface OpenText {
  readonly text: string;
  readonly version: number;
  /** Whether the disk has the same. */
  readonly saved: boolean;
}

type Stat = Awaited<ReturnType<Files['stat']>>;

export class CachedFiles implements Files {
  readonly #disk: Files;
  readonly #open = new Map<string, OpenText>();
  readonly #texts = new Map<string, Promise<string>>();
  readonly #stats = new Map<string, Promise<Stat>>();
  readonly #lists = new Map<string, Promise<string[]>>();
  readonly #heads = new Map<string, Promise<Head>>();
  #changes = 0;

  constructor(disk: Files) {
    this.#disk = disk;
  }

  absolute(path: string): string {
    return this.#disk.absolute(path);
  }

  /** Grows with everything that changes: what was made of the files at another count may be stale. */
  get changes(): number {
    return this.#changes;
  }

  /** The text in the editor, from now on the file's. */
  edit(path: string, text: string, version: number): void {
    this.#changes += 1;
    this.#open.set(path, { text, version, saved: !this.#open.has(path) });
  }

  /** The text in the editor was written to the disk. */
  save(path: string): void {
    const open = this.#open.get(path);
    if (open !== undefined) this.#open.set(path, { ...open, saved: true });
    this.forget(path);
  }

  /** Whether nothing of it is only in the editor: half-typed names are nobody's to be asked. */
  isSaved(path: string): boolean {
    return this.#open.get(path)?.saved ?? true;
  }

  close(path: string): void {
    this.#open.delete(path);
    this.forget(path);
  }

  openText(path: string): Pick<OpenText, 'text' | 'version'> | undefined {
    return this.#open.get(path);
  }

  openPaths(): string[] {
    return [...this.#open.keys()];
  }

  /** It changed, came or went on the disk. */
  forget(path: string): void {
    this.#changes += 1;
    for (const map of [this.#texts, this.#stats, this.#lists, this.#heads]) map.delete(path);
    this.#lists.delete(dirname(path));
  }

  forgetAll(): void {
    this.#changes += 1;
    for (const map of [this.#texts, this.#stats, this.#lists, this.#heads]) map.clear();
  }

  async readText(path: string): Promise<string> {
    return this.#open.get(path)?.text ?? kept(this.#texts, path, () => this.#disk.readText(path));
  }

  async *bytes(path: string): AsyncGenerator<Uint8Array> {
    const open = this.#open.get(path);
    if (open !== undefined) {
      yield new TextEncoder().encode(open.text);
      return;
    }
    const head = await kept(this.#heads, path, () => this.#readHead(path));
    yield head.bytes;
    if (head.whole) return;
    let skipped = 0;
    for await (const chunk of this.#disk.bytes(path)) {
      const behind = Math.max(0, head.bytes.length - skipped);
      skipped += chunk.length;
      if (behind < chunk.length) yield chunk.subarray(behind);
    }
  }

  async #readHead(path: string): Promise<Head> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    let whole = true;
    for await (const chunk of this.#disk.bytes(path)) {
      chunks.push(chunk);
      length += chunk.length;
      if (length < HEAD_BYTES) continue;
      whole = false; // as far as one knows
      break;
    }
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return { bytes, whole };
  }

  async stat(path: string): Promise<Stat> {
    const open = this.#open.get(path);
    return open === undefined
      ? kept(this.#stats, path, () => this.#disk.stat(path))
      : { kind: 'file', bytes: open.text.length };
  }

  async list(folder: string): Promise<string[]> {
    return kept(this.#lists, folder, () => this.#disk.list(folder));
  }
}

interface Head {
  readonly bytes: Uint8Array;
  readonly whole: boolean;
}

/** Failures are remembered too: a file that may not be read is not tried at each keystroke. */
function kept<T>(map: Map<string, Promise<T>>, path: string, read: () => Promise<T>): Promise<T> {
  let known = map.get(path);
  if (known === undefined) {
    known = (async () => read())();
    known.catch(() => undefined);
    map.set(path, known);
  }
  return known;
}

/** Tells every path that is asked for: what a check depends on. */
export function watched(files: Files, seen: Set<string>, parse: NonNullable<Files['parse']>): Files {
  const note = (path: string): string => {
    seen.add(path);
    return path;
  };
  return {
    absolute: (path) => files.absolute(path),
    readText: (path) => files.readText(note(path)),
    bytes: (path) => files.bytes(note(path)),
    stat: (path) => files.stat(note(path)),
    list: (folder) => files.list(folder),
    parse,
  };
}

/** undefined when the text cannot be had. */
export async function textOf(files: Files, path: string): Promise<string | undefined> {
  try {
    return await files.readText(path);
  } catch (thrown) {
    if (StudioError.is(thrown)) return undefined;
    throw thrown;
  }
}
