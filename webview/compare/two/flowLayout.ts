/** Places the branches of all attempts in columns, as high as the number of their attempts. */
import type { Branch } from '../../../src/trace/align/prefixTree.ts';

export interface FlowBox {
  readonly branch: Branch;
  readonly column: number;
  readonly top: number;
  readonly height: number;
  /** Index of its parent. */
  readonly parent?: number;
  /** Whether the left and the right attempt are in it. */
  readonly left: boolean;
  readonly right: boolean;
  /** Top of the band at its parent, from the parent's top. */
  readonly from: number;
}

export interface FoldedPaths {
  readonly column: number;
  readonly top: number;
  readonly paths: number;
}

export interface Flow {
  readonly boxes: readonly FlowBox[];
  /** Branches without a box, by column. */
  readonly folded: readonly FoldedPaths[];
  readonly columns: number;
  readonly height: number;
  /** Height of one attempt. */
  readonly unit: number;
}

export const FLOW_COLUMNS = 4;
const MAX_BOXES = 5;
const MIN_HEIGHT = 22;
const GAP = 8;
/** Height of all attempts, and the most for one. */
const ALL_HEIGHT = 130;
const MAX_UNIT = 14;

/** `left`, `right`: indexes of attempts; their branches are never folded. */
export function flowLayout(tree: Branch, left: number, right: number): Flow {
  const unit = Math.min(MAX_UNIT, ALL_HEIGHT / Math.max(1, tree.counts.attempts));
  const boxes: FlowBox[] = [];
  const folded: FoldedPaths[] = [];
  const has = (branch: Branch, index: number): boolean => branch.along.some((one) => one.index === index);
  const add = (branch: Branch, column: number, top: number, from: number, parent?: number): FlowBox => {
    const box = {
      branch,
      column,
      top,
      from,
      height: Math.max(MIN_HEIGHT, branch.counts.attempts * unit),
      left: has(branch, left),
      right: has(branch, right),
      ...(parent === undefined ? {} : { parent }),
    };
    boxes.push(box);
    return box;
  };
  const root = add(tree, 0, 0, 0);
  let height = root.height;
  let parents = [0];
  let columns = 1;
  for (let column = 1; column < FLOW_COLUMNS && parents.length > 0; column++) {
    const all = parents.flatMap((parent) =>
      (boxes[parent]?.branch.branches ?? []).map((branch) => ({ branch, parent })),
    );
    if (all.length === 0) break;
    columns = column + 1;
    const kept = new Set(
      all
        .toSorted((a, b) => (weight(b.branch) > weight(a.branch) ? 1 : weight(b.branch) < weight(a.branch) ? -1 : 0))
        .slice(0, MAX_BOXES)
        .map(({ branch }) => branch),
    );
    let top = 0;
    const offsets = new Map<number, number>();
    const next: number[] = [];
    for (const { branch, parent } of all) {
      if (!kept.has(branch)) continue;
      const above = boxes[parent];
      if (above === undefined) continue;
      const from = offsets.get(parent) ?? (above.height - above.branch.counts.attempts * unit) / 2;
      offsets.set(parent, from + branch.counts.attempts * unit);
      next.push(boxes.length);
      const box = add(branch, column, Math.max(top, above.top), from, parent);
      top = box.top + box.height + GAP;
    }
    if (all.length > kept.size) {
      folded.push({ column, top, paths: all.length - kept.size });
      top += MIN_HEIGHT;
    }
    height = Math.max(height, top - GAP);
    parents = next;
  }
  const deeper = parents.reduce((sum, index) => sum + (boxes[index]?.branch.branches.length ?? 0), 0);
  if (columns === FLOW_COLUMNS && deeper > 0) {
    const below = folded.find(({ column }) => column === FLOW_COLUMNS - 1);
    if (below === undefined) {
      const top = Math.max(...parents.map((index) => (boxes[index]?.top ?? 0) + (boxes[index]?.height ?? 0))) + GAP;
      folded.push({ column: FLOW_COLUMNS - 1, top, paths: deeper });
      height = Math.max(height, top + MIN_HEIGHT);
    } else folded.splice(folded.indexOf(below), 1, { ...below, paths: below.paths + deeper });
  }
  return { boxes, folded, columns, height, unit };

  function weight(branch: Branch): number {
    return has(branch, left) || has(branch, right) ? Number.POSITIVE_INFINITY : branch.counts.attempts;
  }
}

/** Returns the box to which an arrow key leads; undefined if there is none. */
export function boxBeside(boxes: readonly FlowBox[], index: number, key: string): number | undefined {
  const box = boxes[index];
  if (box === undefined) return undefined;
  if (key === 'ArrowLeft') return box.parent;
  if (key === 'ArrowRight') {
    const child = boxes.findIndex(({ parent }) => parent === index);
    return child < 0 ? undefined : child;
  }
  const step = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0;
  return step !== 0 && boxes[index + step]?.column === box.column ? index + step : undefined;
}
