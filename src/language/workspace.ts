/**
 * The files of a workspace with the editor's unsaved changes, parsed once per version. Based on `Files`, without the
 * protocol. Paths are those of `config` (absolute, with `/`).
 */

import type { Position } from 'vscode-languageserver-types';
import { type FileKind, fileKind } from '../common/fileKinds.ts';
import { configFilesUnder } from '../config/checkFiles.ts';
import { formatOf } from '../config/dataset/dataset.ts';
import { type Files, textOf } from '../config/files.ts';
import { MODULE_ENDINGS } from '../config/load/tools.ts';
import type { ParsedFile, PlaceInFile } from '../config/source/parse.ts';
import { Segments } from '../config/source/segments.ts';
import { CachedFiles } from './workspace/cachedFiles.ts';
import { type Facts, NO_FACTS } from './workspace/facts.ts';
import { placeholdersIn, type Reference, referencesIn } from './workspace/references.ts';
import { Lines, touches } from './workspace/text.ts';

/** A file and a reference in it. */
interface Mention {
  readonly file: string;
  readonly reference: Reference;
}

interface CachedFile {
  readonly segments: Segments;
  text: string;
  parsed: ParsedFile;
  references: Reference[] | undefined;
}

export class Workspace {
  /** Files with the texts of open documents. */
  readonly files: CachedFiles;
  readonly facts: Facts;
  #folders: readonly string[];
  readonly #cache = new Map<string, CachedFile>();
  #configFiles: Promise<Set<string>> | undefined;
  /** Mentions by referenced file, valid for one change count. */
  #mentions: { readonly at: number; readonly byFile: Promise<Map<string, Mention[]>> } | undefined;

  constructor(disk: Files, folders: readonly string[] = [], facts: Facts = NO_FACTS) {
    this.facts = facts;
    this.files = new CachedFiles(disk);
    this.#folders = folders.map((folder) => disk.absolute(folder));
  }

  get folders(): readonly string[] {
    return this.#folders;
  }

  setFolders(folders: readonly string[]): void {
    this.#folders = folders.map((folder) => this.files.absolute(folder));
    this.#configFiles = undefined;
    this.#mentions = undefined;
  }

  // ---- changes

  /** Called when a document was opened or changed. */
  edit(path: string, text: string, version: number): void {
    this.files.edit(path, text, version);
  }

  close(path: string): void {
    this.files.close(path);
  }

  /** Called when files on disk were changed, created, or deleted. */
  async changed(paths: readonly string[]): Promise<void> {
    const listed = await this.#configFiles;
    for (const path of paths) {
      this.files.invalidate(path);
      if (fileKind(path) === undefined || listed === undefined) continue;
      if ((await this.files.stat(path))?.kind === 'file') listed.add(path);
      else {
        listed.delete(path);
        this.#cache.delete(path);
      }
    }
  }

  // ---- files

  /** Returns undefined if it cannot be read. */
  text(path: string): Promise<string | undefined> {
    return textOf(this.files, path);
  }

  async lines(path: string): Promise<Lines | undefined> {
    const text = await this.text(path);
    return text === undefined ? undefined : new Lines(text);
  }

  /** Parses an agent, world, or batch file once per version. Returns undefined if it cannot be read. */
  async parsed(path: string): Promise<ParsedFile | undefined> {
    const text = await this.text(path);
    return text === undefined ? undefined : this.parse(path, text);
  }

  /** Parses incrementally, based on the previous version. */
  parse(path: string, text: string): ParsedFile {
    return this.#cachedFile(path, text).parsed;
  }

  #cachedFile(path: string, text: string): CachedFile {
    let cached = this.#cache.get(path);
    if (cached?.text === text) return cached;
    const segments = cached?.segments ?? new Segments();
    cached = { segments, text, parsed: segments.parse(path, text), references: undefined };
    this.#cache.set(path, cached);
    return cached;
  }

  /** Returns all agent, world, and batch files in the folders, and open ones, sorted. */
  async configFiles(): Promise<string[]> {
    const folders = this.#folders;
    this.#configFiles ??= Promise.all(folders.map((folder) => configFilesUnder(this.files, folder))).then(
      (lists) => new Set(lists.flat()),
    );
    const listed = await this.#configFiles;
    return [...new Set([...listed, ...this.files.openPaths().filter((path) => fileKind(path) !== undefined)])].sort();
  }

  /** Returns the role of a file. A text file is a prompt if a file references it as one. */
  async roleOf(path: string): Promise<FileKind | 'prompt' | 'module' | 'dataset' | undefined> {
    const kind = fileKind(path);
    if (kind !== undefined) return kind;
    if (/\.(md|txt)$/i.test(path))
      return (await this.mentionsOf(path)).some(({ reference }) => reference.kind === 'prompt') ? 'prompt' : undefined;
    if (MODULE_ENDINGS.some((ending) => path.toLowerCase().endsWith(ending))) return 'module';
    return formatOf(path) === undefined ? undefined : 'dataset';
  }

  // ---- references

  /** Returns the references of a config file, or the placeholders of another text, in text order per kind. */
  async references(path: string): Promise<readonly Reference[]> {
    const text = await this.text(path);
    if (text === undefined) return [];
    const kind = fileKind(path);
    if (kind === undefined) return placeholdersIn(new Lines(text), text);
    const cached = this.#cachedFile(path, text);
    cached.references ??= referencesIn(cached.parsed, kind);
    return cached.references;
  }

  async referenceAt(path: string, position: Position): Promise<Reference | undefined> {
    return (await this.references(path)).find(({ range }) => touches(range, position));
  }

  /** Returns all references to a file in config files. */
  async mentionsOf(path: string): Promise<readonly Mention[]> {
    const now = this.files.changes;
    if (this.#mentions?.at !== now) this.#mentions = { at: now, byFile: this.#allMentions() };
    return (await this.#mentions.byFile).get(path) ?? [];
  }

  async #allMentions(): Promise<Map<string, Mention[]>> {
    const found = new Map<string, Mention[]>();
    for (const file of await this.configFiles()) {
      for (const reference of await this.references(file)) {
        if (reference.file === undefined) continue;
        const list = found.get(reference.file);
        if (list === undefined) found.set(reference.file, [{ file, reference }]);
        else list.push({ file, reference });
      }
    }
    return found;
  }

  // ---- places

  /** Returns the path of keys at a position in a config file, and whether it is on a key or value. */
  async nodeAt(path: string, { line, character }: Position): Promise<PlaceInFile | undefined> {
    return fileKind(path) === undefined ? undefined : (await this.parsed(path))?.at(line + 1, character + 1);
  }
}
