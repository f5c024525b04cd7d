/** Shows what an installation would change, before it is applied. */
import * as vscode from 'vscode';
import { plural } from '../../common/text.ts';
import { changedObjects, type InstallDiff, type ObjectDiff } from '../../protocol/installDiff.ts';
import { DIFF_SCHEME } from '../contributions/names.ts';

/** Keeps the objects of the last diff of each target. */
export class InstallDiffs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #texts = new Map<string, string>();
  readonly #provider: vscode.Disposable;

  constructor() {
    this.#provider = vscode.workspace.registerTextDocumentContentProvider(DIFF_SCHEME, this);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? '# Run “Rollout: Install on Target…” to compare again.\n';
  }

  /** Shows the changes, and asks whether to apply them. Returns whether to. `title`: what they are for. */
  async confirm(title: string, diff: InstallDiff): Promise<boolean> {
    const changed = changedObjects(diff);
    const { namespace } = diff;
    const before = this.#documents(namespace, 'before', changed);
    const after = this.#documents(namespace, 'after', changed);
    await vscode.commands.executeCommand(
      'vscode.changes',
      title,
      changed.map((object, index) => [
        vscode.Uri.from({ scheme: DIFF_SCHEME, path: pathOf(namespace, object) }),
        before[index],
        after[index],
      ]),
    );
    const apply = {
      label: `Apply ${plural(changed.length, 'Change')}`,
      ...(diff.notes.length === 0 ? {} : { detail: diff.notes.join(' ') }),
    };
    // A notification would hide while somebody reads the changes.
    const chosen = await vscode.window.showQuickPick([apply, { label: 'Cancel' }], {
      title: `${title} (namespace ${namespace}): ${countsText(changed)}`,
      placeHolder: 'Read the changes below before you apply them',
      ignoreFocusOut: true,
    });
    await closeTab(title);
    return chosen === apply;
  }

  dispose(): void {
    this.#provider.dispose();
    this.#changed.dispose();
  }

  /** Returns the address of each object; undefined for those that do not exist then. */
  #documents(folder: string, when: 'before' | 'after', objects: readonly ObjectDiff[]): (vscode.Uri | undefined)[] {
    return objects.map((object) => {
      const text = object[when];
      if (text === undefined) return undefined;
      const uri = vscode.Uri.from({ scheme: DIFF_SCHEME, path: pathOf(folder, object), query: when });
      this.#texts.set(uri.toString(), text);
      this.#changed.fire(uri);
      return uri;
    });
  }
}

function pathOf(folder: string, { kind, name }: ObjectDiff): string {
  return `/${folder}/${kind} ${name}.yaml`;
}

/** Returns e.g. `14 objects to create, 1 to change`. */
export function countsText(changed: readonly ObjectDiff[]): string {
  const count = (change: ObjectDiff['change']): number => changed.filter((each) => each.change === change).length;
  const [create, change, remove] = [count('create'), count('change'), count('remove')];
  const parts = [
    [create, 'to create'],
    [change, 'to change'],
    [remove, 'to remove'],
  ] as const;
  return parts
    .filter(([number]) => number > 0)
    .map(([number, words], index) => `${index === 0 ? plural(number, 'object') : number} ${words}`)
    .join(', ');
}

async function closeTab(label: string): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => tab.label.startsWith(label));
  await vscode.window.tabGroups.close(tabs);
}
