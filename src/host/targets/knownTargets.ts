/** The targets of the user's data folder: read when the file is there, and again when it changes. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import * as vscode from 'vscode';
import { dataFolder } from '../../client/folders.ts';
import type { Target } from '../../client/targets/target.ts';
import { Observable } from '../../common/emitter.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { VIEW_KEYS } from '../contributions/views.ts';

/** A target without what only the command line needs to know. */
export interface KnownTarget {
  readonly name: string;
  /** In a cluster a server can be installed; at an address it is only used. */
  readonly kind: 'cluster' | 'url';
  /** Where it is, in a few words. */
  readonly place: string;
  /** Without it: the one of the context. */
  readonly namespace?: string;
}

export class KnownTargets implements vscode.Disposable {
  readonly list = new Observable<readonly KnownTarget[]>([]);
  readonly #log: vscode.LogOutputChannel;
  readonly #watcher: vscode.Disposable;

  constructor(log: vscode.LogOutputChannel) {
    this.#log = log;
    // The command line writes it, too.
    const watcher = vscode.workspace.createFileSystemWatcher(
      new vscode.RelativePattern(vscode.Uri.file(dataFolder()), 'targets.json'),
    );
    const changed = (): void => void this.refresh();
    this.#watcher = vscode.Disposable.from(
      watcher,
      watcher.onDidCreate(changed),
      watcher.onDidChange(changed),
      watcher.onDidDelete(changed),
    );
    changed();
  }

  /** Reads them now. A file that is wrong is told in the log, and by every command that needs it. */
  async refresh(): Promise<void> {
    const found = await read().catch((error: unknown) => {
      this.#log.warn(errorText(error));
      return [];
    });
    void vscode.commands.executeCommand('setContext', VIEW_KEYS.targets, found.length > 0);
    void vscode.commands.executeCommand(
      'setContext',
      VIEW_KEYS.clusters,
      found.some(({ kind }) => kind === 'cluster'),
    );
    void vscode.commands.executeCommand(
      'setContext',
      VIEW_KEYS.addresses,
      found.some(({ kind }) => kind === 'url'),
    );
    if (JSON.stringify(found) !== JSON.stringify(this.list.value)) this.list.set(found);
  }

  dispose(): void {
    this.#watcher.dispose();
  }
}

/** Who has no targets does not pay for what reads them. */
function there(): Promise<boolean> {
  return stat(path.join(dataFolder(), 'targets.json')).then(
    () => true,
    () => false,
  );
}

async function read(): Promise<KnownTarget[]> {
  if (!(await there())) return [];
  const [{ TargetFile }, { targetPlace }] = await Promise.all([
    import('../../client/targets/targetFile.ts'),
    import('../../client/targets/target.ts'),
  ]);
  return [...new TargetFile().list()].map(
    ([name, target]): KnownTarget => ({
      name,
      kind: 'url' in target ? 'url' : 'cluster',
      place: targetPlace(target),
      ...('url' in target || target.namespace === undefined ? {} : { namespace: target.namespace }),
    }),
  );
}

/** As it is on the disk now; undefined where there is none of that name, or the file is wrong: who needs it says so. */
export async function targetNow(name: string): Promise<Target | undefined> {
  if (!(await there())) return undefined;
  const { TargetFile } = await import('../../client/targets/targetFile.ts');
  try {
    return new TargetFile().list().get(name);
  } catch (error) {
    if (StudioError.is(error)) return undefined;
    throw error;
  }
}
