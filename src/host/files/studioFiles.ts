/** The workspace's agent, world and batch files: found once, then kept up to date by a watcher. */

import * as vscode from 'vscode';
import { Emitter } from '../../common/emitter.ts';
import { fileGlob } from '../../common/fileKinds.ts';
import { VIEW_KEYS } from '../contributions/views.ts';
import { BatchIndex } from './batchIndex.ts';
import { findFiles, mayHoldFiles, type StudioFileKind } from './findFiles.ts';

/** Most files of a kind that are listed. */
const MOST = 1000;
/** Changes of files come in bursts (a checkout, an edit of many). */
const SETTLE_MS = 200;
/** What is in a folder that was copied in may come later than the folder. */
const FOLDER_SETTLE_MS = 1000;

export class StudioFiles implements vscode.Disposable {
  readonly #changed = new Emitter<StudioFileKind>();
  /** A file of this kind came, went or was saved; or another file that one of them names, such as a dataset. */
  readonly changed = this.#changed.event;
  /** What the batch files name. */
  readonly index = new BatchIndex(() => this.list('batch'));
  readonly #found = new Map<StudioFileKind, Promise<vscode.Uri[]>>();
  readonly #disposables: vscode.Disposable[] = [];
  readonly #timers = new Map<StudioFileKind, NodeJS.Timeout>();
  #folders: NodeJS.Timeout | undefined;

  constructor() {
    for (const kind of ['agent', 'batch'] as const) {
      const watcher = vscode.workspace.createFileSystemWatcher(fileGlob(kind));
      const listed = (): void => {
        this.#found.delete(kind);
        this.#tell(kind);
      };
      this.#disposables.push(
        watcher,
        watcher.onDidCreate(listed),
        watcher.onDidDelete(listed),
        watcher.onDidChange(() => this.#tell(kind)),
      );
    }
    // Of a folder that is copied in, watchers tell, but at times not of what was in it by then.
    const folders = vscode.workspace.createFileSystemWatcher('**/*', false, true, true);
    this.#disposables.push(
      folders,
      folders.onDidCreate((uri) => {
        if (mayHoldFiles(uri)) this.#refreshSoon();
      }),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.refresh()),
      vscode.workspace.onDidSaveTextDocument(({ fileName }) => {
        if (/\.(jsonl|ndjson|csv|json)$/i.test(fileName)) this.#tell('batch');
      }),
    );
  }

  /** Sorted by path. */
  list(kind: StudioFileKind): Promise<vscode.Uri[]> {
    let found = this.#found.get(kind);
    if (found === undefined) {
      found = find(kind);
      this.#found.set(kind, found);
      found.catch(() => this.#found.delete(kind)); // looked for again the next time
    }
    return found;
  }

  refresh(): void {
    this.#found.clear();
    this.#tell('agent');
    this.#tell('batch');
  }

  #refreshSoon(): void {
    clearTimeout(this.#folders);
    this.#folders = setTimeout(() => this.refresh(), FOLDER_SETTLE_MS);
  }

  #tell(kind: StudioFileKind): void {
    clearTimeout(this.#timers.get(kind));
    this.#timers.set(
      kind,
      setTimeout(() => {
        if (kind === 'batch') this.index.forget();
        this.#changed.fire(kind);
      }, SETTLE_MS),
    );
  }

  dispose(): void {
    for (const timer of [...this.#timers.values(), this.#folders]) clearTimeout(timer);
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

async function find(kind: StudioFileKind): Promise<vscode.Uri[]> {
  const uris = await findFiles(
    (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri),
    kind,
    MOST,
  );
  await vscode.commands.executeCommand(
    'setContext',
    kind === 'batch' ? VIEW_KEYS.batchFiles : VIEW_KEYS.agentFiles,
    uris.length > 0,
  );
  return uris.sort((a, b) => (a.path < b.path ? -1 : 1));
}
