/** The tree of the starts and messages of a stream. The root, 0, is the rollout itself. */
export class NodeTree {
  readonly #nodes = new Map<number, { readonly parent: number; readonly place: number }>();
  readonly #children = new Map<number, number[]>();

  add(seq: number, parent: number): void {
    let siblings = this.#children.get(parent);
    if (siblings === undefined) this.#children.set(parent, (siblings = []));
    this.#nodes.set(seq, { parent, place: siblings.length });
    siblings.push(seq);
  }

  /** Returns undefined if `seq` is not a node. */
  parentOf(seq: number): number | undefined {
    return this.#nodes.get(seq)?.parent;
  }

  children(seq: number): readonly number[] {
    return this.#children.get(seq) ?? [];
  }

  sibling(seq: number, distance: 1 | -1): number | undefined {
    const node = this.#nodes.get(seq);
    return node === undefined ? undefined : this.#children.get(node.parent)?.[node.place + distance];
  }
}
