/**
 * The files with the editor's open documents. Other files are read once and cached until a change is reported, so that
 * a check after a keystroke does not access the disk.
 */
import type { Files } from '../../config/files.ts';
import { dirname } from '../../config/paths.ts';

/** Cached size of a dataset, which covers the records checked while typing. */
const HEAD_BYTES = 256 * 1024;

interface OpenDocument {
  readonly text: string;
  readonly version: number;
  /** Whether the text is saved to disk. */
  readonly saved: boolean;
}

type FileStat = Awaited<ReturnType<Files['stat']>>;

export class CachedFiles implements Files {
  readonly #disk: Files;
  readonly #open = new Map<string, OpenDocument>();
  readonly #texts = new Map<string, Promise<string>>();
  readonly #stats = new Map<string, Promise<FileStat>>();
  readonly #lists = new Map<string, Promise<string[]>>();
  readonly #heads = new Map<string, Promise<Head>>();
  #changes = 0;

  constructor(disk: Files) {
    this.#disk = disk;
  }

  absolute(path: string): string {
    return this.#disk.absolute(path);
  }

  /** Incremented with every change. Data derived at another count may be stale. */
  get changes(): number {
    return this.#changes;
  }

  /** Sets the text in the editor, which overrides the file. */
  edit(path: string, text: string, version: number): void {
    this.#changes += 1;
    this.#open.set(path, { text, version, saved: !this.#open.has(path) });
  }

  /** Called when the text in the editor was saved. */
  save(path: string): void {
    const open = this.#open.get(path);
    if (open !== undefined) this.#open.set(path, { ...open, saved: true });
    this.invalidate(path);
  }

  /** Returns whether a file has no unsaved changes, because partly typed names must not be queried. */
  isSaved(path: string): boolean {
    return this.#open.get(path)?.saved ?? true;
  }

  close(path: string): void {
    this.#open.delete(path);
    this.invalidate(path);
  }

  openText(path: string): Pick<OpenDocument, 'text' | 'version'> | undefined {
    return this.#open.get(path);
  }

  openPaths(): string[] {
    return [...this.#open.keys()];
  }

  /** Called when a file on disk was changed, created, or deleted. */
  invalidate(path: string): void {
    this.#changes += 1;
    for (const map of [this.#texts, this.#stats, this.#lists, this.#heads]) map.delete(path);
    this.#lists.delete(dirname(path));
  }

  invalidateAll(): void {
    this.#changes += 1;
    for (const map of [this.#texts, this.#stats, this.#lists, this.#heads]) map.clear();
  }

  async readText(path: string): Promise<string> {
    return this.#open.get(path)?.text ?? cached(this.#texts, path, () => this.#disk.readText(path));
  }

  async *bytes(path: string): AsyncGenerator<Uint8Array> {
    const open = this.#open.get(path);
    if (open !== undefined) {
      yield new TextEncoder().encode(open.text);
      return;
    }
    const head = await cached(this.#heads, path, () => this.#readHead(path));
    yield head.bytes;
    if (head.complete) return;
    let skipped = 0;
    for await (const chunk of this.#disk.bytes(path)) {
      const rest = Math.max(0, head.bytes.length - skipped);
      skipped += chunk.length;
      if (rest < chunk.length) yield chunk.subarray(rest);
    }
  }

  async #readHead(path: string): Promise<Head> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    let complete = true;
    for await (const chunk of this.#disk.bytes(path)) {
      chunks.push(chunk);
      length += chunk.length;
      if (length < HEAD_BYTES) continue;
      complete = false; // possibly incomplete
      break;
    }
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return { bytes, complete };
  }

  async stat(path: string): Promise<FileStat> {
    const open = this.#open.get(path);
    return open === undefined
      ? cached(this.#stats, path, () => this.#disk.stat(path))
      : { kind: 'file', bytes: open.text.length };
  }

  async list(folder: string): Promise<string[]> {
    return cached(this.#lists, folder, () => this.#disk.list(folder));
  }
}

interface Head {
  readonly bytes: Uint8Array;
  readonly complete: boolean;
}

/** Caches failures too, so that unreadable files are not retried with each keystroke. */
function cached<T>(map: Map<string, Promise<T>>, path: string, read: () => Promise<T>): Promise<T> {
  let entry = map.get(path);
  if (entry === undefined) {
    entry = (async () => read())();
    entry.catch(() => undefined);
    map.set(path, entry);
  }
  return entry;
}

/** Records every accessed path, which a check depends on. */
export function trackReads(files: Files, paths: Set<string>, parse: NonNullable<Files['parse']>): Files {
  const note = (path: string): string => {
    paths.add(path);
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
