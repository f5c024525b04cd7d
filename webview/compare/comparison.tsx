/** The tree of all attempts, the attempts of the selected branch, and the cursor in them. */
import { useMemo, useState } from 'preact/hooks';
import type { PageAction, PagePlace } from '../../src/protocol/page.ts';
import type { ComparedAttempt } from '../../src/trace/align/attempt.ts';
import type { Cell } from '../../src/trace/align/columns.ts';
import { KeysOverlay } from '../components/overlays/keysOverlay.tsx';
import { usePageWidth } from '../components/pageWidth.ts';
import { Splitter } from '../components/splitter.tsx';
import { useKeys } from '../keys.ts';
import { AlignedRows, type Spot } from './alignedRows.tsx';
import { BranchTree, branchRows } from './branchTree.tsx';
import type { ComparedAttempts, ComparedWhole } from './compareData.ts';
import { comparedActions } from './comparedActions.ts';
import { COMPARE_KEYS, compareBindings } from './compareKeys.ts';

const NARROW = 720;

interface ComparisonProps {
  readonly compared: ComparedAttempts;
  readonly whole: ComparedWhole;
  readonly place: Extract<PagePlace, { page: 'compare' }>;
  readonly act: (action: PageAction) => void;
  readonly onTwo: () => void;
}

export function Comparison({ compared, whole, place, act, onTwo }: ComparisonProps) {
  const { attempts } = compared;
  const { tree, alignment } = whole;
  const branches = useMemo(() => branchRows(tree), [tree]);
  const [branch, setBranch] = useState(0);
  const [spot, setSpot] = useState<Spot>({ row: alignment.firstSplit ?? 0, column: 0 });
  const [keys, setKeys] = useState(false);
  const width = usePageWidth();
  // The reference comes first, because the attempts of a branch are compared with it.
  const columns = useMemo(
    () => [
      alignment.reference,
      ...(branches[branch]?.branch.along ?? [])
        .map((one) => one.index)
        .filter((index) => index !== alignment.reference),
    ],
    [alignment, branches, branch],
  );
  const last = alignment.rows.length - 1;

  const toRow = (row: number): void => setSpot((now) => ({ ...now, row: within(row, last) }));
  const toColumn = (column: number): void => setSpot((now) => ({ ...now, column: within(column, columns.length - 1) }));
  const toBranch = (to: number): void => {
    setBranch(within(to, branches.length - 1));
    toColumn(0);
  };
  const difference = (direction: 1 | -1): void => {
    for (let index = spot.row + direction; alignment.rows[index] !== undefined; index += direction) {
      if (!columns.some((at) => isDifference(alignment.rows[index]?.cells[at], attempts[at]))) continue;
      toRow(index);
      return;
    }
  };
  const { nameOf, open, copy } = comparedActions(compared, place, act);
  const indexAt = ({ column }: Spot): number => columns[column] ?? alignment.reference;
  const actionAt = (at: Spot) => alignment.rows[at.row]?.cells[indexAt(at)]?.action;
  const openAt = (at: Spot, beside = false): void => open(indexAt(at), actionAt(at)?.seq, beside);
  useKeys(
    compareBindings({
      row: (distance) => toRow(spot.row + distance),
      end: (direction) => toRow(direction === 1 ? last : 0),
      column: (distance) => toColumn(spot.column + distance),
      branch: (distance) => toBranch(branch + distance),
      difference,
      open: (beside) => openAt(spot, beside),
      copy: () => copy(indexAt(spot), actionAt(spot)?.step),
      batch: () => act({ do: 'open', place: { page: 'batch', batch: place.batch } }),
      two: onTwo,
      keys: () => setKeys(true),
    }),
    !keys,
  );

  const first = (
    <section class="compare-tree" aria-label="Branches of all attempts">
      <BranchTree rows={branches} selected={branch} onSelect={toBranch} />
    </section>
  );
  const second = (
    <section class="compare-columns" aria-label="Attempts of the branch">
      <AlignedRows
        attempts={attempts}
        nameOf={nameOf}
        alignment={alignment}
        columns={columns}
        spot={spot}
        onRow={toRow}
        onColumn={toColumn}
        onOpen={openAt}
      />
    </section>
  );
  return (
    <>
      <div class="compare-body">
        {width <= NARROW ? (
          <Splitter
            key="column"
            direction="column"
            name="compare.narrow"
            initial={180}
            min={80}
            first={first}
            second={second}
          />
        ) : (
          <Splitter
            key="row"
            direction="row"
            name="compare"
            initial={Math.round(width * 0.32)}
            min={200}
            first={first}
            second={second}
          />
        )}
      </div>
      <footer class="compare-foot">
        <span>Attempts share a branch while tool and arguments match</span>
        <span class="compare-keys">
          <kbd>D</kbd> next difference
        </span>
        <span class="compare-keys">
          <kbd>H</kbd>
          <kbd>L</kbd> attempt
        </span>
        <span class="compare-keys">
          <kbd>V</kbd> two attempts
        </span>
        <span class="compare-keys">
          <kbd>↵</kbd> open
        </span>
        <button type="button" onClick={() => setKeys(true)}>
          <kbd>?</kbd> keys
        </button>
      </footer>
      {keys && <KeysOverlay groups={COMPARE_KEYS} onClose={() => setKeys(false)} />}
    </>
  );
}

function within(index: number, last: number): number {
  return Math.max(0, Math.min(last, index));
}

/** Whether an attempt did something else here. Of words, only those of a final answer count. */
function isDifference(cell: Cell | undefined, attempt: ComparedAttempt | undefined): boolean {
  if (cell === undefined) return false;
  if (cell.state === 'text') return cell.action === attempt?.actions.at(-1);
  return cell.otherResult || cell.state !== 'same';
}
