/** The Targets view: what the server says of itself, asked again while the view is seen. It never starts a server. */
import * as vscode from 'vscode';
import { errorText, StudioError } from '../../../common/errors.ts';
import type { ServerInfo } from '../../../protocol/client.ts';
import type { Services } from '../../services.ts';
import { treeItem } from '../treeItem.ts';
import { targetNodes, type TargetNode } from './targetNodes.ts';

const ASK_MS = 2_000;

export class TargetTree implements vscode.TreeDataProvider<TargetNode> {
  readonly #services: Services;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  #seen: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #info: ServerInfo | undefined;

  constructor(services: Services) {
    this.#services = services;
  }

  getTreeItem(node: TargetNode): vscode.TreeItem {
    return treeItem(node.look, node.children.length > 0 ? 'open' : 'none', node.id);
  }

  getChildren(node?: TargetNode): TargetNode[] {
    if (node !== undefined) return [...node.children];
    return this.#info === undefined ? [] : targetNodes(this.#info, this.#services.server.state.value.state);
  }

  visible(seen: boolean): void {
    if (!seen) {
      this.#seen?.abort();
      this.#seen = undefined;
      clearTimeout(this.#timer);
    } else if (this.#seen === undefined) {
      this.#seen = new AbortController();
      void this.#ask(this.#seen.signal);
    }
  }

  /** Asks at once, if the view is seen. */
  refresh(): void {
    if (this.#seen === undefined) return;
    this.visible(false);
    this.visible(true);
  }

  dispose(): void {
    this.visible(false);
    this.#changed.dispose();
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const before = JSON.stringify(this.getChildren());
    try {
      const { api } = await this.#services.server.connection({ start: false, signal });
      this.#info = await api.server(signal);
    } catch (thrown) {
      if (signal.aborted) return;
      this.#info = undefined;
      if (!StudioError.is(thrown)) this.#services.log.warn(`Targets view: ${errorText(thrown)}`);
    }
    if (signal.aborted) return;
    if (JSON.stringify(this.getChildren()) !== before) this.#changed.fire(undefined);
    this.#timer = setTimeout(() => void this.#ask(signal), ASK_MS);
  }
}
