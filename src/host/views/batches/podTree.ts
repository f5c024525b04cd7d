/** The part of the Batches view with the pods of batches. Loaded when the first batch that has some is expanded. */
import * as vscode from 'vscode';
import { BatchPodList } from '../../pods/batchPodList.ts';
import type { Services } from '../../services.ts';
import { treeItem } from '../treeItem.ts';
import { type AnyPodNode, type PodsNode, podChildren, podNodeId, podRow } from './podNodes.ts';

export class PodTree {
  readonly #pods: BatchPodList;
  /** By batch. VS Code identifies items by object identity. */
  readonly #nodes = new Map<string, PodsNode>();

  /** @param changed Called with the item whose children have changed. */
  constructor({ server, log }: Pick<Services, 'server' | 'log'>, changed: (node: PodsNode) => void) {
    this.#pods = new BatchPodList({
      server,
      log,
      changed: (batch) => {
        const node = this.#nodes.get(batch);
        if (node !== undefined) changed(node);
      },
    });
  }

  /** Returns the item above the pods of a batch. */
  root(batch: string): PodsNode {
    let node = this.#nodes.get(batch);
    if (node === undefined) this.#nodes.set(batch, (node = { kind: 'pods', batch }));
    return node;
  }

  item(node: AnyPodNode): vscode.TreeItem {
    const row = podRow(node, this.#pods.latest(node.batch));
    const id = podNodeId(node);
    if (row === undefined) return new vscode.TreeItem(id);
    const item = treeItem(row.content, row.hasChildren ? 'closed' : 'none', id);
    if (row.opens !== undefined)
      item.command = { command: 'rollout.openTrajectory', title: 'Open Trajectory', arguments: [row.opens] };
    return item;
  }

  async children(node: AnyPodNode): Promise<AnyPodNode[]> {
    return podChildren(node, await this.#pods.of(node.batch));
  }

  setExpanded(batch: string, expanded: boolean): void {
    this.#pods.setExpanded(batch, expanded);
  }

  setVisible(visible: boolean): void {
    this.#pods.setVisible(visible);
  }

  forget(batch: string): void {
    this.#pods.forget(batch);
    this.#nodes.delete(batch);
  }

  clear(): void {
    this.#pods.clear();
  }
}
