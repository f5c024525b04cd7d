/**
 * Places what all attempts did in columns: the steps that all share, one column for each step after them, and the end.
 * Boxes are as high as the number of their attempts.
 */
import type { Action } from '../../../src/trace/align/actions.ts';
import type { ComparedAttempt } from '../../../src/trace/align/attempt.ts';
import { type Branch, type BranchCounts, countsOf } from '../../../src/trace/align/prefixTree.ts';

/** `equal`: the steps that all share. `rest`: all steps that have no column. `ended`: no further step. */
type BoxKind = 'equal' | 'step' | 'rest' | 'ended';

export interface FlowBox {
  readonly kind: BoxKind;
  /** Its actions in its first attempt; those of a `rest` may differ between attempts. */
  readonly actions: readonly Action[];
  /** Number of actions before it. */
  readonly depth: number;
  /** Its attempts, by index. */
  readonly attempts: readonly number[];
  readonly counts: BranchCounts;
  /** Actions of the other paths in its column. */
  readonly siblings: readonly Action[];
  /** Whether its attempts end with it. */
  readonly ends: boolean;
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
  /** Column by column, each from the top. */
  readonly boxes: readonly FlowBox[];
  /** Paths without a box, by column. */
  readonly folded: readonly FoldedPaths[];
  readonly columns: number;
  readonly height: number;
  /** Height of one attempt. */
  readonly unit: number;
}

/** Including the steps that all share. The last one holds the rest of longer paths. */
export const FLOW_COLUMNS = 4;
const MAX_BOXES = 5;
const MIN_HEIGHT = 22;
const GAP = 8;
/** Height of all attempts, and the most for one. */
const ALL_HEIGHT = 130;
const MAX_UNIT = 14;

/** A step of the tree: an action of a branch, or the attempts that end where others go on. */
type Step = { readonly branch: Branch; readonly at: number } | { readonly ended: readonly number[] };

/** `left`, `right`: indexes of attempts; their paths are never folded. */
export function flowLayout(tree: Branch, attempts: readonly ComparedAttempt[], left: number, right: number): Flow {
  const unit = Math.min(MAX_UNIT, ALL_HEIGHT / Math.max(1, attempts.length));
  const longest = Math.max(...attempts.map(({ actions }) => actions.length));
  const columns = Math.min(FLOW_COLUMNS, 1 + longest - tree.actions.length);
  const boxes: FlowBox[] = [];
  const folded: FoldedPaths[] = [];
  const add = (step: Step, place: Pick<FlowBox, 'column' | 'top' | 'from' | 'siblings' | 'parent'>): number => {
    const own = contents(step, place.column, columns, attempts);
    boxes.push({
      ...own,
      ...place,
      counts: countsOf(own.attempts.flatMap((index) => attempts[index] ?? [])),
      height: heightOf(step),
      left: own.attempts.includes(left),
      right: own.attempts.includes(right),
    });
    return boxes.length - 1;
  };
  const root: Step = { branch: tree, at: tree.actions.length - 1 };
  add(root, { column: 0, top: 0, from: 0, siblings: [] });
  /** The boxes of the column before, each with its step. */
  let parents: { readonly box: number; readonly step: Step }[] = [{ box: 0, step: root }];
  let height = boxes[0]?.height ?? 0;
  for (let column = 1; column < columns; column++) {
    const paths = parents.map((parent) => ({ ...parent, steps: nextSteps(parent.step) }));
    const all = paths.flatMap(({ steps }) => steps);
    // Stable: the first ones among those with as many attempts.
    const kept = new Set(all.toSorted((a, b) => weight(b) - weight(a)).slice(0, MAX_BOXES));
    const here: typeof parents = [];
    let top = 0;
    for (const { box, steps } of paths) {
      const above = boxes[box];
      if (above === undefined) continue;
      let from = (above.height - above.attempts.length * unit) / 2;
      for (const one of steps) {
        if (!kept.has(one)) continue;
        const siblings = all.filter((other) => other !== one).flatMap((other) => actionOf(other) ?? []);
        const free = freeFrom(Math.max(top, above.top), heightOf(one), column);
        const index = add(one, { column, top: free, from, siblings, parent: box });
        here.push({ box: index, step: one });
        from += membersOf(one).length * unit;
        top = free + heightOf(one) + GAP;
      }
    }
    if (all.length > kept.size) {
      top = freeFrom(top, MIN_HEIGHT, column);
      folded.push({ column, top, paths: all.length - kept.size });
      top += MIN_HEIGHT + GAP;
    }
    height = Math.max(height, top - GAP);
    parents = here;
  }
  return { boxes, folded, columns, height, unit };

  function heightOf(step: Step): number {
    return Math.max(MIN_HEIGHT, membersOf(step).length * unit);
  }

  /** Returns the first free place from `top` on: not right of a box with which attempts end, for their outcomes. */
  function freeFrom(top: number, size: number, column: number): number {
    let free = top;
    for (const box of boxes.toSorted((a, b) => a.top - b.top))
      if (box.ends && box.column < column && free < box.top + box.height + GAP && free + size + GAP > box.top)
        free = box.top + box.height + GAP;
    return free;
  }

  function weight(step: Step): number {
    const members = membersOf(step);
    return members.length + (members.includes(left) || members.includes(right) ? attempts.length : 0);
  }
}

/** Returns the steps after a step: none if its attempts end with it. */
function nextSteps(step: Step): Step[] {
  if ('ended' in step) return [];
  const { branch, at } = step;
  if (at + 1 < branch.actions.length) return [{ branch, at: at + 1 }];
  const followers = branch.branches.map((one): Step => ({ branch: one, at: 0 }));
  return followers.length > 0 && branch.ends.length > 0 ? [...followers, { ended: branch.ends }] : followers;
}

function membersOf(step: Step): readonly number[] {
  return 'ended' in step ? step.ended : step.branch.along.map(({ index }) => index);
}

function actionOf(step: Step): Action | undefined {
  return 'ended' in step ? undefined : step.branch.actions[step.at];
}

function contents(
  step: Step,
  column: number,
  columns: number,
  attempts: readonly ComparedAttempt[],
): Pick<FlowBox, 'kind' | 'actions' | 'depth' | 'attempts' | 'ends'> {
  const members = membersOf(step);
  const first = attempts[members[0] ?? -1]?.actions ?? [];
  if ('ended' in step) return { kind: 'ended', actions: [], depth: first.length, attempts: members, ends: true };
  const { branch, at } = step;
  const depth = branch.depth + at;
  if (column === 0) return { kind: 'equal', actions: branch.actions, depth: 0, attempts: members, ends: false };
  const ends = nextSteps(step).length === 0;
  const isLast = column === columns - 1;
  const rest = isLast && !ends;
  return {
    kind: rest ? 'rest' : 'step',
    actions: rest ? first.slice(depth) : branch.actions.slice(at, at + 1),
    depth,
    attempts: members,
    ends: ends || isLast,
  };
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
