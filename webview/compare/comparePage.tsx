/** All attempts at a task: on the left the tree of what they did, on the right the attempts of a branch, step by step. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { countsOf } from '../../src/trace/align/prefixTree.ts';
import { EmptyState } from '../components/notices/emptyState.tsx';
import { Skeleton } from '../components/notices/skeleton.tsx';
import { useChanges } from '../data/observe.ts';
import type { Host } from '../host/host.ts';
import { useKeys } from '../keys.ts';
import { AlignedRows, type Spot } from './alignedRows.tsx';
import { BranchTree, branchRows } from './branchTree.tsx';
import { CompareData, type Compared } from './compareData.ts';
import './comparePage.css';

export function ComparePage({ host, batch, task }: { readonly host: Host; readonly batch: string; readonly task: string }) {
  const data = useMemo(() => new CompareData(host, batch, task), [host, batch, task]);
  useEffect(() => () => data.close(), [data]);
  useChanges(data.changed);
  return <main class="compare-page"><Content host={host} task={task} data={data} /></main>;
}

function Content({ host, task, data }: { readonly host: Host; readonly task: string; readonly data: CompareData }) {
  const { compared, problem, read, total } = data;
  if (compared !== undefined && compared.attempts.length > 1) return <Comparison host={host} task={task} compared={compared} />;
  const few = compared === undefined ? undefined : `The task has ${compared.attempts.length === 0 ? 'no attempt' : 'one attempt only'}. Run it again with more attempts.`;
  return (
    <>
      <header class="compare-title"><h1>{task}</h1></header>
      {data.loading === 'failed' ? <EmptyState icon="error" title="The attempts cannot be read" text={problem ?? ''} />
        : few !== undefined ? <EmptyState icon="info" title="Nothing to compare" text={few} />
          : <><p class="compare-reading" role="status">{total === 0 ? 'Reading the attempts' : `Reading attempt ${read + 1} of ${total}`}</p><Skeleton /></>}
    </>
  );
}

function Comparison({ host, task, compared: { attempts, tree, alignment } }: { readonly host: Host; readonly task: string; readonly compared: Compared }) {
  const branches = useMemo(() => branchRows(tree), [tree]);
  const [branch, setBranch] = useState(0);
  const [spot, setSpot] = useState<Spot>({ row: alignment.firstSplit ?? 0, column: 0 });
  // The reference comes first; what a branch's attempts differ from stays in sight.
  const columns = useMemo(() => [alignment.reference, ...(branches[branch]?.branch.along ?? []).map((one) => one.index).filter((index) => index !== alignment.reference)], [alignment, branches, branch]);
  const row = (to: number): void => setSpot({ ...spot, row: Math.max(0, Math.min(alignment.rows.length - 1, to)) });
  const column = (by: number): void => setSpot({ ...spot, column: Math.max(0, Math.min(columns.length - 1, spot.column + by)) });
  const difference = (direction: 1 | -1): void => {
    for (let index = spot.row + direction; alignment.rows[index] !== undefined; index += direction) {
      if (!columns.some((at) => differs(alignment.rows[index]?.cells[at]))) continue;
      row(index);
      return;
    }
  };
  const open = (at: number): void => {
    const index = columns[spot.column] ?? alignment.reference;
    const attempt = attempts[index];
    const action = alignment.rows[at]?.cells[index]?.action;
    if (attempt !== undefined) void host.act({ do: 'open', place: { page: 'trajectory', rollout: attempt.rollout, ...(action === undefined ? {} : { seq: action.seq }) } });
  };
  useKeys({
    'j': () => row(spot.row + 1), 'k': () => row(spot.row - 1), 'ArrowDown': () => row(spot.row + 1), 'ArrowUp': () => row(spot.row - 1),
    'h': () => column(-1), 'l': () => column(1), 'ArrowLeft': () => column(-1), 'ArrowRight': () => column(1),
    'd': () => difference(1), 'shift+d': () => difference(-1), 'Home': () => row(0), 'End': () => row(alignment.rows.length - 1), 'Enter': () => open(spot.row),
  });
  const counts = countsOf(attempts);
  return (
    <>
      <header class="compare-title"><h1>{task}</h1><span>{attempts.length} attempts · {counts.passed} passed, {counts.failed} failed{counts.truncated > 0 ? `, ${counts.truncated} truncated` : ''}{counts.other > 0 ? `, ${counts.other} other` : ''}</span></header>
      <div class="compare-body">
        <section class="compare-tree" aria-label="Branches of all attempts">
          <BranchTree rows={branches} selected={branch} onSelect={(index) => {
            setBranch(index);
            setSpot({ ...spot, column: 0 });
          }} />
        </section>
        <section class="compare-columns" aria-label="Attempts of the branch">
          <AlignedRows attempts={attempts} alignment={alignment} columns={columns} spot={spot} onRow={row} onOpen={open} />
        </section>
      </div>
      <footer class="compare-foot"><span>attempts are one branch while tools and arguments are equal</span><span><kbd>D</kbd> next difference</span><span><kbd>H</kbd> <kbd>L</kbd> attempt</span><span><kbd>↵</kbd> open</span></footer>
    </>
  );
}

function differs(cell: { readonly state: string; readonly otherResult: boolean } | undefined): boolean {
  return cell !== undefined && (cell.otherResult || (cell.state !== 'same' && cell.state !== 'text'));
}
