/**
 * The Batches view: batches, tasks, and attempts. Loads expanded items and updates them live while visible.
 */
import * as vscode from 'vscode';
import { errorText, StudioError } from '../../../common/errors.ts';
import { waitingOf, waitingText } from '../../../common/waitingText.ts';
import type { BatchRow } from '../../../protocol/client.ts';
import { withoutDebugRuns } from '../../batches/batchText.ts';
import type { Services } from '../../services.ts';
import type { WindowShares } from '../../targets/windowShares.ts';
import { treeItem } from '../treeItem.ts';
import type { BatchContents } from './batchContents.ts';
import type { BatchFollower } from './batchFollower.ts';
import {
  type AttemptNode,
  attemptItem,
  type BatchNode,
  batchItem,
  type DebugRunsNode,
  debugRunsItem,
  type ErrorNode,
  isPodNode,
  type MoreNode,
  type Node,
  type TaskNode,
  taskItem,
} from './batchNodes.ts';
import type { PodTree } from './podTree.ts';

export const LOAD_MORE = 'rollout.view.loadMore';
const DEFAULT_LIMIT = 50;

export class BatchTree implements vscode.TreeDataProvider<Node> {
  readonly #services: Services;
  readonly #shares: WindowShares;
  readonly #sharesListener: { dispose(): void };
  /** What the items say that wait. */
  #waiting = new Map<string, string>();
  readonly #changed = new vscode.EventEmitter<Node[] | undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  /** VS Code identifies items by object identity, so each item keeps its object while it is listed. */
  readonly #batches = new Map<string, BatchNode>();
  readonly #tasks = new Map<string, TaskNode>();
  readonly #contents = new Map<string, BatchContents>();
  /** Loaded when the first batch is expanded. */
  #follower: BatchFollower | undefined;
  /** Loaded when the first batch that has pods is expanded. */
  #pods: PodTree | undefined;
  readonly #debugRuns: DebugRunsNode = { kind: 'debugRuns' };
  #rows: readonly BatchRow[] = [];
  #hasOlder = true;

  constructor(services: Services, shares: WindowShares) {
    this.#services = services;
    this.#shares = shares;
    this.#sharesListener = shares.value.changed(() => this.#sharesChanged());
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if (isPodNode(node)) return this.#pods?.item(node) ?? new vscode.TreeItem(node.batch);
    switch (node.kind) {
      case 'batch': {
        const row = this.#row(node.batch);
        if (row === undefined) return new vscode.TreeItem(node.batch);
        return treeItem(
          batchItem(row, Date.now(), waitingOf(this.#shares.value.value, node.batch)),
          row.tasks > 0 ? 'closed' : 'none',
          node.batch,
        );
      }
      case 'task': {
        const entry = this.#contents.get(node.batch)?.entry(node.task);
        return entry === undefined
          ? new vscode.TreeItem(node.task)
          : treeItem(
              taskItem(entry, plannedOf(this.#row(node.batch), entry.rows.size)),
              'closed',
              `${node.batch}/${node.task}`,
            );
      }
      case 'attempt': {
        const row = this.#contents.get(node.batch)?.rollout(node.task, node.rollout);
        if (row === undefined) return new vscode.TreeItem(node.rollout);
        const item = treeItem(attemptItem(row, Date.now()), 'none', node.rollout);
        // A queued attempt has no trajectory yet.
        if (row.state !== 'queued')
          item.command = { command: 'rollout.openTrajectory', title: 'Open Trajectory', arguments: [node.rollout] };
        return item;
      }
      case 'debugRuns':
        return treeItem(debugRunsItem(this.#rows.filter(({ debug }) => debug === true)), 'closed', 'debugRuns');
      case 'more': {
        const item = treeItem({ label: 'Load more…', icon: { id: 'ellipsis' }, ariaLabel: 'Load more' }, 'none');
        item.command = { command: LOAD_MORE, title: 'Load More', arguments: [node] };
        return item;
      }
      case 'error': {
        const item = treeItem(
          {
            label: node.text,
            tooltip: `${node.text}\nClick to retry.`,
            icon: { id: 'error', color: 'errorForeground' },
            ariaLabel: node.text,
          },
          'none',
        );
        item.command = { command: LOAD_MORE, title: 'Try Again', arguments: [node] };
        return item;
      }
    }
  }

  async getChildren(node?: Node): Promise<Node[]> {
    try {
      if (node === undefined) return this.#batchNodes();
      if (node.kind === 'debugRuns') return this.#rows.filter(({ debug }) => debug === true).map(this.#batchNode);
      if (node.kind === 'batch') return await this.#taskNodes(node);
      if (node.kind === 'task') return await this.#attemptNodes(node);
      if (isPodNode(node)) return (await this.#pods?.children(node)) ?? [];
      return [];
    } catch (error) {
      this.#services.log.warn(`Batches view: ${errorText(error)}`);
      const errorNode: ErrorNode = {
        kind: 'error',
        of: node?.kind === 'batch' || node?.kind === 'task' || node?.kind === 'pods' ? node : undefined,
        text: StudioError.is(error) ? error.message : errorText(error),
      };
      return [errorNode];
    }
  }

  getParent(node: Node): Node | undefined {
    if (node.kind === 'task') return this.#batches.get(node.batch);
    if (node.kind === 'attempt') return this.#tasks.get(`${node.batch}/${node.task}`);
    if (node.kind === 'batch') return this.#row(node.batch)?.debug === true ? this.#debugRuns : undefined;
    if (node.kind === 'pods') return this.#batches.get(node.batch);
    if (isPodNode(node)) return this.#pods?.root(node.batch);
    return node.kind === 'debugRuns' ? undefined : node.of;
  }

  #batchNodes(): Node[] {
    this.#rows = this.#services.batches.rows.value;
    const measured = withoutDebugRuns(this.#rows);
    const nodes: Node[] = [
      ...(measured.length < this.#rows.length ? [this.#debugRuns] : []),
      ...measured.map(this.#batchNode),
    ];
    const limit = vscode.workspace.getConfiguration('rollout').get<number>('view.batchesLimit', DEFAULT_LIMIT);
    const more: MoreNode = { kind: 'more', of: undefined };
    return this.#hasOlder && this.#rows.length >= limit ? [...nodes, more] : nodes;
  }

  readonly #batchNode = ({ batch }: BatchRow): BatchNode => {
    let node = this.#batches.get(batch);
    if (node === undefined) this.#batches.set(batch, (node = { kind: 'batch', batch, reference: batch }));
    return node;
  };

  async #taskNodes(of: BatchNode): Promise<Node[]> {
    const contents = await this.#contentsOf(of.batch);
    if (!contents.started) {
      const { api } = await this.#services.server.connection();
      // Follow before loading, so that no change is missed. Newer loaded rows do no harm.
      const row = await api.batch(of.batch);
      await contents.loadMore(api);
      this.#follower?.start(row);
    }
    const nodes: Node[] = contents.tasks.map(({ task }) => {
      const key = `${of.batch}/${task}`;
      let node = this.#tasks.get(key);
      if (node === undefined) this.#tasks.set(key, (node = { kind: 'task', batch: of.batch, task, reference: key }));
      return node;
    });
    const row = this.#row(of.batch);
    // Workers only run for batches that have not ended; of others, “Show Pods…” shows what was recorded.
    if (row !== undefined && row.state !== 'ended' && !row.imported)
      nodes.unshift((await this.#loadPods()).root(of.batch));
    return contents.more ? [...nodes, { kind: 'more', of }] : nodes;
  }

  async #loadPods(): Promise<PodTree> {
    const { PodTree: Tree } = await import('./podTree.ts');
    return (this.#pods ??= new Tree(this.#services, (node) => this.#changed.fire([node])));
  }

  async #attemptNodes(of: TaskNode): Promise<Node[]> {
    const contents = await this.#contentsOf(of.batch);
    const entry = contents.entry(of.task);
    if (entry === undefined) return [];
    const more = entry.complete
      ? false
      : await contents.loadTask((await this.#services.server.connection()).api, of.task);
    const { attemptsOf } = await import('./batchContents.ts');
    const nodes: Node[] = attemptsOf(entry).map(
      (row): AttemptNode => ({
        kind: 'attempt',
        batch: of.batch,
        task: of.task,
        rollout: row.rollout,
        reference: `${of.batch}/${of.task}/${row.attempt}`,
      }),
    );
    return more ? [...nodes, { kind: 'more', of }] : nodes;
  }

  /** Implements “Load more…” and retries. */
  async loadMore(node: MoreNode | ErrorNode): Promise<void> {
    const { of } = node;
    if (node.kind === 'more') {
      if (of === undefined) this.#hasOlder = await this.#services.batches.more();
      else {
        const { api } = await this.#services.server.connection();
        if (of.kind === 'pods') return;
        const contents = await this.#contentsOf(of.batch);
        if (of.kind === 'batch') await contents.loadMore(api);
        else await contents.loadTask(api, of.task, true);
      }
    }
    this.#changed.fire(of === undefined ? undefined : [of]);
  }

  /** Refreshes the items that changed. */
  batchesChanged(): void {
    const rows = this.#services.batches.rows.value;
    const same =
      rows.length === this.#rows.length && rows.every(({ batch }, index) => batch === this.#rows[index]?.batch);
    const previous = new Map(this.#rows.map((row) => [row.batch, row]));
    this.#rows = rows;
    for (const row of rows)
      if (row.state !== 'ended' || previous.get(row.batch)?.state !== 'ended') this.#follower?.updateRow(row);
    if (!same) {
      const listed = new Set(rows.map(({ batch }) => batch));
      for (const batch of this.#batches.keys()) if (!listed.has(batch)) this.#remove(batch);
      this.#changed.fire(undefined);
      return;
    }
    const changed = rows
      .filter((row) => !isSameRow(row, previous.get(row.batch)))
      .flatMap(({ batch }) => this.#batches.get(batch) ?? []);
    if (changed.length > 0)
      this.#changed.fire(
        changed.some(({ batch }) => this.#row(batch)?.debug === true) ? [this.#debugRuns, ...changed] : changed,
      );
  }

  /** Reloads everything. */
  refresh(): void {
    this.#contents.clear();
    this.#tasks.clear();
    this.#follower?.stopAll();
    this.#pods?.clear();
    this.#hasOlder = true;
    this.#changed.fire(undefined);
  }

  expanded(node: Node, open: boolean): void {
    if (node.kind === 'batch') this.#follower?.setExpanded(node.batch, open);
    if (node.kind === 'batch' || node.kind === 'pods') this.#pods?.setExpanded(node.batch, open);
  }

  visible(isVisible: boolean): void {
    this.#follower?.setVisible(isVisible);
    this.#pods?.setVisible(isVisible);
  }

  dispose(): void {
    this.#follower?.stopAll();
    this.#pods?.clear();
    this.#sharesListener.dispose();
    this.#changed.dispose();
  }

  /** Refreshes the items of batches that wait for something else now. */
  #sharesChanged(): void {
    const before = this.#waiting;
    this.#waiting = new Map(
      (this.#shares.value.value?.waiting ?? []).map((waiting) => [waiting.batch, waitingText(waiting)]),
    );
    const changed = [...new Set([...before.keys(), ...this.#waiting.keys()])].filter(
      (batch) => before.get(batch) !== this.#waiting.get(batch),
    );
    const nodes = changed.flatMap((batch) => this.#batches.get(batch) ?? []);
    if (nodes.length > 0) this.#changed.fire(nodes);
  }

  #row(batch: string): BatchRow | undefined {
    return this.#services.batches.rows.value.find((row) => row.batch === batch);
  }

  async #contentsOf(batch: string): Promise<BatchContents> {
    const [{ BatchContents: Contents }, { BatchFollower: Follower }] = await Promise.all([
      import('./batchContents.ts'),
      import('./batchFollower.ts'),
    ]);
    this.#follower ??= new Follower({
      server: this.#services.server,
      log: this.#services.log,
      contents: (of) => this.#contents.get(of),
      changed: (of, tasks) => this.#refreshTasks(of, tasks),
    });
    let contents = this.#contents.get(batch);
    if (contents === undefined) this.#contents.set(batch, (contents = new Contents(batch)));
    return contents;
  }

  #remove(batch: string): void {
    this.#follower?.setExpanded(batch, false);
    this.#contents.delete(batch);
    this.#batches.delete(batch);
    this.#pods?.forget(batch);
    for (const [key, node] of this.#tasks) if (node.batch === batch) this.#tasks.delete(key);
  }

  #refreshTasks(batch: string, tasks: ReadonlySet<string>): void {
    const nodes = [...tasks].flatMap((task) => this.#tasks.get(`${batch}/${task}`) ?? []);
    if (nodes.length > 0) this.#changed.fire(nodes);
  }
}

/** Returns the row with the planned attempts of a task: those that it has, if that depends on their outcomes. */
function plannedOf(row: BatchRow | undefined, rows: number): Parameters<typeof taskItem>[1] {
  return row === undefined ? { attempts: rows } : row.adaptive === undefined ? row : { ...row, attempts: rows };
}

/** Compares rows by value, because the list creates new objects with each request. */
function isSameRow(row: BatchRow, previous: BatchRow | undefined): boolean {
  return row === previous || JSON.stringify(row) === JSON.stringify(previous);
}
