/**
 * The Targets view. Polls the window's server while visible. Loads the findings of a target when its item is expanded
 * or refreshed. Never starts a server.
 */
import * as vscode from 'vscode';
import { LOCAL } from '../../../client/targets/local.ts';
import { errorText, StudioError } from '../../../common/errors.ts';
import type { ServerInfo } from '../../../protocol/client.ts';
import type { Services } from '../../services.ts';
import type { TargetRegistry } from '../../targets/targetRegistry.ts';
import type { WindowShares } from '../../targets/windowShares.ts';
import { treeItem } from '../treeItem.ts';
import { FindingReader } from './findingReader.ts';
import type { TargetNode } from './targetNodes.ts';

const POLL_MS = 2_000;
/** Minimum interval between finding requests, each of which starts a process. */
const MIN_FINDINGS_INTERVAL_MS = 10_000;
/** How often a target that could not be reached is tried again. */
const RETRY_MS = 15_000;

export class TargetTree implements vscode.TreeDataProvider<TargetNode> {
  readonly #services: Services;
  readonly #targets: TargetRegistry;
  readonly #shares: WindowShares;
  readonly #changed = new vscode.EventEmitter<TargetNode | undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #findings: FindingReader;
  readonly #listeners: vscode.Disposable;
  /** IDs of items that a person expanded: a new item of such an ID must not be collapsed. */
  readonly #expanded = new Set<string>();
  #polling: AbortController | undefined;
  #watch: { dispose(): void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #info: ServerInfo | undefined;
  /** The target of the last server info. */
  #infoTarget = LOCAL;
  /** Number of workers at the last finding request. */
  #workers = 0;
  #rendered = '';

  constructor(services: Services, targets: TargetRegistry, shares: WindowShares) {
    this.#services = services;
    this.#targets = targets;
    this.#shares = shares;
    this.#findings = new FindingReader(services.cli, () => this.#changed.fire(undefined));
    this.#listeners = vscode.Disposable.from(
      targets.list.changed(() => this.#changed.fire(undefined)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.refresh()),
      services.server.serverChanged(() => this.refresh()),
      shares.value.changed(() => void this.#showChanges()),
      ...(services.server.unstable === undefined
        ? []
        : [services.server.unstable.changed(() => void this.#showChanges())]),
    );
  }

  getTreeItem(node: TargetNode): vscode.TreeItem {
    const isClosed = (node.loadsFindings === true || node.collapsed === true) && !this.#expanded.has(node.id);
    const state = isClosed ? 'closed' : node.loadsFindings === true || node.children.length > 0 ? 'open' : 'none';
    const item = treeItem(node.item, state, node.id);
    if (node.opens !== undefined)
      item.command = { command: 'rollout.openBatch', title: 'Open Batch', arguments: [{ batch: node.opens }] };
    return item;
  }

  async getChildren(node?: TargetNode): Promise<TargetNode[]> {
    if (node === undefined) {
      const roots = await this.#roots();
      this.#rendered = JSON.stringify(roots);
      return roots;
    }
    if (node.loadsFindings !== true || node.target === undefined) return [...node.children];
    const { targetItems } = await import('./findingNodes.ts');
    const read = this.#findings.latest(node.target);
    // Reading takes a second or more, and the items of the server need not wait for it.
    if (read === undefined) void this.#findings.of(node.target);
    // The item of the used target already shows the queue, with live updates.
    const shown =
      node.target === this.#services.server.target && this.#info !== undefined
        ? read?.findings.filter(({ name, state }) => name !== 'queue' || state !== 'ok')
        : read?.findings;
    return targetItems(node.target, read && { ...read, findings: shown ?? [] }, node.children);
  }

  /** Called when an item was expanded or collapsed. Collapsing drops the findings. */
  expanded(node: TargetNode, open: boolean): void {
    const { id, loadsFindings, target } = node;
    if (open) this.#expanded.add(id);
    else this.#expanded.delete(id);
    if (loadsFindings !== true || target === undefined) return;
    if (!open) this.#findings.forget(target);
    // VS Code keeps the children from before, which are none if it was collapsed while they were read. All items are
    // read again: VS Code ignores the change of an item that it has replaced in the meantime.
    else if (!this.#findings.has(target)) this.#changed.fire(undefined);
  }

  visible(visible: boolean): void {
    if (!visible) {
      this.#watch?.dispose();
      this.#watch = undefined;
      this.#polling?.abort();
      this.#polling = undefined;
      clearTimeout(this.#timer);
    } else if (this.#polling === undefined) {
      this.#watch = this.#shares.watch();
      this.#polling = new AbortController();
      void this.#poll(this.#polling.signal);
    }
  }

  /** Refreshes at once if the view is visible, showing known data first. */
  refresh(): void {
    if (this.#polling === undefined) return;
    this.#changed.fire(undefined);
    this.visible(false);
    this.visible(true);
  }

  /** Also refreshes the findings of expanded targets. */
  refreshAll(): void {
    void this.#targets.refresh();
    this.#findings.refreshAll();
    this.#shares.refresh();
    this.refresh();
  }

  dispose(): void {
    this.visible(false);
    this.#listeners.dispose();
    this.#findings.dispose();
    this.#changed.dispose();
  }

  /** In Restricted Mode nothing is read, and the view shows a message. */
  async #roots(): Promise<TargetNode[]> {
    if (!vscode.workspace.isTrusted) return [];
    const { targetNodes } = await import('./targetNodes.ts'); // not needed before the view is visible
    const { target, state } = this.#services.server;
    const info = this.#infoTarget === target ? this.#info : undefined;
    return targetNodes({
      targets: this.#targets.list.value,
      current: target,
      state: state.value.state,
      isUnstable: this.#services.server.unstable?.value !== undefined,
      info,
      shares: this.#shares.value.value,
      batchName: (batch) => this.#services.batches.rows.value.find((row) => row.batch === batch)?.name,
      findings: (name) => this.#findings.latest(name)?.findings,
    });
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { server, log } = this.#services;
    const target = server.target;
    void this.#targets.refresh();
    try {
      const { api } = await server.connection({ start: false, signal });
      this.#info = await api.server(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#info = undefined;
      if (!StudioError.is(error)) log.warn(`Targets view: ${errorText(error)}`);
    }
    if (signal.aborted) return;
    this.#infoTarget = target;
    const workers = this.#info?.workers.length ?? 0;
    // The number of pods changed.
    if (workers !== this.#workers && this.#findings.refresh(target, MIN_FINDINGS_INTERVAL_MS)) this.#workers = workers;
    this.#findings.retryFailed(RETRY_MS);
    await this.#showChanges();
    if (this.#polling?.signal !== signal) return;
    this.#timer = setTimeout(() => void this.#poll(signal), POLL_MS);
  }

  /** VS Code replaces all items, which a click may meet, so only if any of them looks different. */
  async #showChanges(): Promise<void> {
    const roots = JSON.stringify(await this.#roots());
    if (this.#polling !== undefined && roots !== this.#rendered) this.#changed.fire(undefined);
  }
}
