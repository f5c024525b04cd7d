/** The tree item that the keyboard is on, for keys that act on it. */
import * as vscode from 'vscode';
import { AT_FOCUS } from '../contributions/keybindings.ts';
import type { RegisterCommand } from '../services.ts';

/**
 * VS Code passes no item to the command of a key, and tells an extension only the selection, which the arrow keys leave
 * where it was. Selecting or deselecting the item at the focus tells which one it is.
 */
export class FocusedItem {
  #view: vscode.TreeView<unknown> | undefined;

  /** Sets the view that has the keys. */
  attach(view: vscode.TreeView<unknown>): void {
    this.#view = view;
  }

  /** Registers commands that get the item at the focus when a key asks for it. */
  registrar(register: RegisterCommand): RegisterCommand {
    return (id, run) =>
      register(id, async (...args) => {
        if (args[0] !== AT_FOCUS) return run(...args);
        const found = await this.#find();
        return found === undefined ? undefined : run(...found);
      });
  }

  /** Returns the item and the selected ones, as the context menu of the item passes them. */
  async #find(): Promise<readonly [item: unknown, selected: readonly unknown[]] | undefined> {
    const view = this.#view;
    if (view === undefined) return undefined;
    const before = view.selection;
    await vscode.commands.executeCommand('list.toggleSelection');
    const after = view.selection;
    await vscode.commands.executeCommand('list.toggleSelection'); // as it was
    const added = after.find((item) => !before.includes(item));
    if (added !== undefined) return [added, [added]];
    const removed = before.find((item) => !after.includes(item));
    return removed === undefined ? undefined : [removed, before];
  }
}
