/** Lists the workspace's agent, world, and batch files, kept up to date by a watcher. */
import * as vscode from 'vscode';
import { Emitter } from '../../common/emitter.ts';
import { FILE_KINDS, type FileKind, fileGlob } from '../../common/fileKinds.ts';
import { VIEW_KEYS } from '../contributions/names.ts';
import { BatchIndex } from './batchIndex.ts';
import { findFiles, mayContainFiles } from './findFiles.ts';

/** Maximum number of files per kind. */
const MAX_FILES = 1000;
/** Debounces bursts of changes, such as a checkout. */
const SETTLE_MS = 200;
/** Context keys: whether there are files of a kind, and whether there are none. */
const KIND_KEYS: Readonly<Record<FileKind, { readonly some?: string; readonly none: string }>> = {
  agent: { none: VIEW_KEYS.noAgentFiles },
  batch: { some: VIEW_KEYS.batchFiles, none: VIEW_KEYS.noBatchFiles },
  world: { some: VIEW_KEYS.worldFiles, none: VIEW_KEYS.noWorldFiles },
};
/** Files in a copied folder may appear after the folder. */
const FOLDER_SETTLE_MS = 1000;

export class StudioFiles implements vscode.Disposable {
  readonly #changed = new Emitter<FileKind>();
  /** Fires when a file of a kind, or a file it references such as a dataset, was created, deleted, or saved. */
  readonly changed = this.#changed.event;
  /** References in the batch files. */
  readonly index = new BatchIndex(() => this.list('batch'));
  readonly #lists = new Map<FileKind, Promise<vscode.Uri[]>>();
  readonly #disposables: vscode.Disposable[] = [];
  readonly #timers = new Map<FileKind, NodeJS.Timeout>();
  #folders: NodeJS.Timeout | undefined;

  constructor() {
    for (const kind of FILE_KINDS) {
      const watcher = vscode.workspace.createFileSystemWatcher(fileGlob(kind));
      const filesChanged = (): void => {
        this.#lists.delete(kind);
        this.#notify(kind);
      };
      this.#disposables.push(
        watcher,
        watcher.onDidCreate(filesChanged),
        watcher.onDidDelete(filesChanged),
        watcher.onDidChange(() => this.#notify(kind)),
      );
    }
    // For a copied folder, watchers may miss the files that were already in it.
    const folders = vscode.workspace.createFileSystemWatcher('**/*', false, true, true);
    this.#disposables.push(
      folders,
      folders.onDidCreate((uri) => {
        if (mayContainFiles(uri)) this.#refreshSoon();
      }),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.refresh()),
      vscode.workspace.onDidSaveTextDocument(({ fileName }) => {
        if (/\.(jsonl|ndjson|csv|json)$/i.test(fileName)) this.#notify('batch');
      }),
    );
  }

  /** Returns the files of a kind, sorted by path. */
  list(kind: FileKind): Promise<vscode.Uri[]> {
    let list = this.#lists.get(kind);
    if (list === undefined) {
      list = find(kind);
      this.#lists.set(kind, list);
      list.catch(() => this.#lists.delete(kind)); // retry on the next call
    }
    return list;
  }

  refresh(): void {
    this.#lists.clear();
    for (const kind of FILE_KINDS) this.#notify(kind);
  }

  #refreshSoon(): void {
    clearTimeout(this.#folders);
    this.#folders = setTimeout(() => this.refresh(), FOLDER_SETTLE_MS);
  }

  #notify(kind: FileKind): void {
    clearTimeout(this.#timers.get(kind));
    this.#timers.set(
      kind,
      setTimeout(() => {
        if (kind === 'batch') this.index.clear();
        this.#changed.fire(kind);
      }, SETTLE_MS),
    );
  }

  dispose(): void {
    for (const timer of [...this.#timers.values(), this.#folders]) clearTimeout(timer);
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

async function find(kind: FileKind): Promise<vscode.Uri[]> {
  const uris = await findFiles(
    (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri),
    kind,
    MAX_FILES,
  );
  const { some, none } = KIND_KEYS[kind];
  await vscode.commands.executeCommand('setContext', none, uris.length === 0);
  if (some !== undefined) await vscode.commands.executeCommand('setContext', some, uris.length > 0);
  return uris.sort((a, b) => (a.path < b.path ? -1 : 1));
}
