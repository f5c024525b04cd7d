/** The prefix tree: a row for each branch, with its action and its pass rate. */
import type { Action } from '../../src/trace/align/actions.ts';
import { actionText } from '../../src/trace/align/label.ts';
import type { Branch } from '../../src/trace/align/prefixTree.ts';
import { VirtualList } from '../components/virtualList.tsx';
import { branchText } from './two/flowText.ts';

const ROW = 26;
const INDENT = 10;
/** Deeper branches are not indented further. */
const MAX_LEVEL = 12;

interface BranchRow {
  readonly branch: Branch;
  readonly level: number;
  /** First actions of its sibling branches. */
  readonly siblings: readonly Action[];
}

/** Flattens the tree into rows, each branch followed by its branches. */
export function branchRows(branch: Branch, level = 0, siblings: readonly Action[] = []): BranchRow[] {
  const next = branch.branches.flatMap((one) => {
    const others = branch.branches.filter((other) => other !== one).flatMap(({ actions }) => actions[0] ?? []);
    return branchRows(one, level + 1, others);
  });
  return [{ branch, level, siblings }, ...next];
}

export function BranchTree({
  rows,
  selected,
  onSelect,
  onOpen,
}: {
  readonly rows: readonly BranchRow[];
  readonly selected: number;
  readonly onSelect: (index: number) => void;
  /** Called on Enter and double click. */
  readonly onOpen?: (index: number) => void;
}) {
  return (
    <VirtualList
      count={rows.length}
      rowHeight={ROW}
      label="Branches"
      role="tree"
      selected={selected}
      keyOf={(index) => index}
      onSelect={onSelect}
      {...(onOpen === undefined ? {} : { onOpen })}
      rowProps={(index) => ({ 'aria-level': (rows[index]?.level ?? 0) + 1 })}
      row={(index) => {
        const row = rows[index];
        return row === undefined ? null : <BranchLine {...row} />;
      }}
    />
  );
}

function BranchLine({ branch: { actions, counts }, level, siblings }: BranchRow) {
  const [first] = actions;
  const scored = counts.rate === null ? 0 : counts.passed + counts.failed + counts.truncated;
  const text = first === undefined ? 'all attempts' : branchText(first, siblings);
  return (
    <div
      class="compare-branch"
      style={{ paddingLeft: `${8 + Math.min(level, MAX_LEVEL) * INDENT}px` }}
      title={actions.map((action) => actionText(action)).join('\n')}
    >
      <span class="compare-branch-text">{text}</span>
      {actions.length > 1 && <span class="compare-dim">+{actions.length - 1}</span>}
      <span class="compare-bar" aria-hidden="true">
        <i style={{ width: `${(counts.rate ?? 0) * 100}%` }} />
      </span>
      <span class="compare-count">
        {counts.passed}/{scored}
        {scored === counts.attempts ? '' : ` (${counts.attempts})`}
        <span class="only-read"> passed</span>
      </span>
    </div>
  );
}
