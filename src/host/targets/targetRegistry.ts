/** Reads the targets in the user's data folder and watches for changes. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import * as vscode from 'vscode';
import { dataFolder } from '../../client/folders.ts';
import type { Target } from '../../client/targets/target.ts';
import { Observable } from '../../common/emitter.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { VIEW_KEYS } from '../contributions/names.ts';

/** A target, without the details that only the CLI needs. */
export interface ConfiguredTarget {
  readonly name: string;
  /** Servers can be installed only in clusters. */
  readonly kind: 'cluster' | 'url';
  /** Describes where the target is. */
  readonly place: string;
  /** Defaults to the namespace of the context. */
  readonly namespace?: string;
}

export class TargetRegistry implements vscode.Disposable {
  readonly list = new Observable<readonly ConfiguredTarget[]>([]);
  readonly #log: vscode.LogOutputChannel;
  readonly #watcher: vscode.Disposable;

  constructor(log: vscode.LogOutputChannel) {
    this.#log = log;
    // The CLI also writes the file. Nothing is reported if its folder is made later: the Targets view reads it, too.
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

  /** Reads the targets. Logs an invalid file; commands that need it report it too. */
  async refresh(): Promise<void> {
    const targets = await readTargets().catch((error: unknown) => {
      this.#log.warn(errorText(error));
      return [];
    });
    if (JSON.stringify(targets) === JSON.stringify(this.list.value)) return;
    void vscode.commands.executeCommand('setContext', VIEW_KEYS.targets, targets.length > 0);
    void vscode.commands.executeCommand(
      'setContext',
      VIEW_KEYS.clusters,
      targets.some(({ kind }) => kind === 'cluster'),
    );
    void vscode.commands.executeCommand(
      'setContext',
      VIEW_KEYS.addresses,
      targets.some(({ kind }) => kind === 'url'),
    );
    this.list.set(targets);
  }

  dispose(): void {
    this.#watcher.dispose();
  }
}

/** Avoids loading the reader if fileExists is no file. */
function fileExists(): Promise<boolean> {
  return stat(path.join(dataFolder(), 'targets.json')).then(
    () => true,
    () => false,
  );
}

async function readTargets(): Promise<ConfiguredTarget[]> {
  if (!(await fileExists())) return [];
  const [{ TargetFile }, { targetPlace }] = await Promise.all([
    import('../../client/targets/targetFile.ts'),
    import('../../client/targets/target.ts'),
  ]);
  return [...new TargetFile().list()].map(
    ([name, target]): ConfiguredTarget => ({
      name,
      kind: 'url' in target ? 'url' : 'cluster',
      place: targetPlace(target),
      ...('url' in target || target.namespace === undefined ? {} : { namespace: target.namespace }),
    }),
  );
}

/** Reads a target from disk. Returns undefined if it does not exist or the file is invalid. */
export async function readTarget(name: string): Promise<Target | undefined> {
  if (!(await fileExists())) return undefined;
  const { TargetFile } = await import('../../client/targets/targetFile.ts');
  try {
    return new TargetFile().list().get(name);
  } catch (error) {
    if (StudioError.is(error)) return undefined;
    throw error;
  }
}
