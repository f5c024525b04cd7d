/**
 * The Targets view. What the server in use says of itself is asked again while the view is seen; what is known of a
 * target is asked when its item is opened, and again on refresh. It never starts a server.
 */
import * as vscode from 'vscode';
import { LOCAL } from '../../../client/targets/local.ts';
import { errorText, StudioError } from '../../../common/errors.ts';
import type { ServerInfo } from '../../../protocol/client.ts';
import type { Services } from '../../services.ts';
import type { KnownTargets } from '../../targets/knownTargets.ts';
import { treeItem } from '../treeItem.ts';
import { findingNodes } from './findingNodes.ts';
import { FindingReader } from './findingReader.ts';
import { type TargetNode, targetNodes } from './targetNodes.ts';

const ASK_MS = 2_000;
/** Between two times that a target is asked what is known of it: a process each. */
const FINDINGS_REST_MS = 10_000;

export class TargetTree implements vscode.TreeDataProvider<TargetNode> {
  readonly #services: Services;
  readonly #targets: KnownTargets;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #findings: FindingReader;
  readonly #listeners: vscode.Disposable;
  #seen: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #info: ServerInfo | undefined;
  /** Of which target that is. */
  #infoOf = LOCAL;
  /** How many workers there were when what is known of the target was asked last. */
  #workers = 0;
  #shown = '';

  constructor(services: Services, targets: KnownTargets) {
    this.#services = services;
    this.#targets = targets;
    this.#findings = new FindingReader(services.cli, () => this.#changed.fire(undefined));
    this.#listeners = vscode.Disposable.from(
      targets.list.changed(() => this.#changed.fire(undefined)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.refresh()),
      services.server.moved(() => this.refresh()),
    );
  }

  getTreeItem(node: TargetNode): vscode.TreeItem {
    const state = node.asks === true || node.closed === true ? 'closed' : node.children.length > 0 ? 'open' : 'none';
    return treeItem(node.look, state, node.id);
  }

  async getChildren(node?: TargetNode): Promise<TargetNode[]> {
    if (node === undefined) {
      const roots = this.#roots();
      this.#shown = JSON.stringify(roots);
      return roots;
    }
    if (node.asks !== true || node.target === undefined) return [...node.children];
    const found = findingNodes(node.target, await this.#findings.of(node.target));
    // Of the one in use, the queue is told with every change: by the item itself.
    return [
      ...(node.target === this.#services.server.target && this.#info !== undefined
        ? found.filter(({ look }) => look.context !== 'finding.queue.ok')
        : found),
      ...node.children,
    ];
  }

  /** The user opened or closed an item: what was closed is asked anew when it is opened again. */
  expanded({ asks, target }: TargetNode, open: boolean): void {
    if (asks === true && target !== undefined && !open) this.#findings.forget(target);
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

  /** Asks the server at once, if the view is seen; what is known already is shown before it answers. */
  refresh(): void {
    if (this.#seen === undefined) return;
    this.#changed.fire(undefined);
    this.visible(false);
    this.visible(true);
  }

  /** Asks also what is known of the targets that are open. */
  askAgain(): void {
    void this.#targets.refresh();
    this.#findings.askAgain();
    this.refresh();
  }

  dispose(): void {
    this.visible(false);
    this.#listeners.dispose();
    this.#findings.dispose();
    this.#changed.dispose();
  }

  /** In Restricted Mode nothing is read, and a text says so. */
  #roots(): TargetNode[] {
    if (!vscode.workspace.isTrusted) return [];
    const { target, state } = this.#services.server;
    const info = this.#infoOf === target ? this.#info : undefined;
    return targetNodes({
      targets: this.#targets.list.value,
      used: target,
      state: state.value.state,
      info,
      findings: (name) => this.#findings.known(name),
    });
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { server, log } = this.#services;
    const of = server.target;
    try {
      const { api } = await server.connection({ start: false, signal });
      this.#info = await api.server(signal);
    } catch (thrown) {
      if (signal.aborted) return;
      this.#info = undefined;
      if (!StudioError.is(thrown)) log.warn(`Targets view: ${errorText(thrown)}`);
    }
    if (signal.aborted) return;
    this.#infoOf = of;
    const workers = this.#info?.workers.length ?? 0;
    // Its pods came or went.
    if (workers !== this.#workers && this.#findings.outdated(of, FINDINGS_REST_MS)) this.#workers = workers;
    if (JSON.stringify(this.#roots()) !== this.#shown) this.#changed.fire(undefined);
    this.#timer = setTimeout(() => void this.#ask(signal), ASK_MS);
  }
}
