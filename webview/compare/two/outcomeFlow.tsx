/** What all attempts did, as branches as wide as their number: green passed, hatched red did not pass. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { actionText } from '../../../src/trace/align/label.ts';
import type { Branch } from '../../../src/trace/align/prefixTree.ts';
import { BranchTree, branchRows } from '../branchTree.tsx';
import { boxBeside, type FlowBox, flowLayout } from './flowLayout.ts';
import './outcomeFlow.css';

/** Below this width of the page, an outline replaces the boxes. */
const NARROW = 560;
const SIDE = 12;
const HEADS = 22;
const BOTTOM = 8;

interface OutcomeFlowProps {
  readonly tree: Branch;
  readonly left: number;
  readonly right: number;
  /** Width of the page. */
  readonly width: number;
  /** Called with the branch whose first step should be shown. */
  readonly onGo: (branch: Branch) => void;
  /** Called with a branch whose nearest attempt should be compared. */
  readonly onCompare: (branch: Branch) => void;
}

export function OutcomeFlow({ tree, left, right, width, onGo, onCompare }: OutcomeFlowProps) {
  const flow = useMemo(() => flowLayout(tree, left, right), [tree, left, right]);
  const outline = useMemo(() => branchRows(tree), [tree]);
  const [selected, setSelected] = useState(0);
  const whole = useRef<HTMLDivElement>(null);
  if (width < NARROW)
    return (
      <section class="flow-outline" aria-label="Outcome flow">
        <BranchTree
          rows={outline}
          selected={Math.min(selected, outline.length - 1)}
          onSelect={(index) => {
            setSelected(index);
            const branch = outline[index]?.branch;
            if (branch !== undefined) onGo(branch);
          }}
        />
      </section>
    );
  const { boxes, folded, columns, height, unit } = flow;
  const gap = width < 800 ? 26 : 56;
  const boxWidth = Math.min(320, (width - 2 * SIDE - 10 - gap * (columns - 1)) / columns);
  const x = (column: number): number => SIDE + column * (boxWidth + gap);
  const onKeyDown = (event: KeyboardEvent, index: number): void => {
    const to = boxBeside(boxes, index, event.key);
    if (!event.key.startsWith('Arrow') && event.key !== 'Enter' && event.key !== ' ') return;
    event.stopPropagation();
    if (to === undefined) return;
    event.preventDefault();
    setSelected(to);
    whole.current?.querySelectorAll<HTMLElement>('.flow-box')[to]?.focus();
  };
  const current = Math.min(selected, boxes.length - 1);
  return (
    <section class="flow" aria-label="Outcome flow" ref={whole}>
      <div class="flow-size" style={{ height: `${HEADS + height + BOTTOM}px` }}>
        <svg class="flow-bands" width={width - 10} height={HEADS + height + BOTTOM} aria-hidden="true">
          <defs>
            <pattern id="flow-hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <path class="flow-hatch" d="M0 0V5" />
            </pattern>
          </defs>
          {boxes.map((box, index) => (
            <Band key={index} box={box} parent={boxes[box.parent ?? -1]} unit={unit} x={x} boxWidth={boxWidth} />
          ))}
        </svg>
        {Array.from({ length: columns }, (_, column) => (
          <span key={column} class="flow-head" style={{ left: `${x(column)}px`, width: `${boxWidth}px` }}>
            {headOf(tree, column)}
          </span>
        ))}
        {boxes.map((box, index) => (
          <button
            key={index}
            type="button"
            class={`flow-box${box.left ? ' is-left' : ''}${box.right ? ' is-right' : ''}`}
            style={{
              left: `${x(box.column)}px`,
              top: `${HEADS + box.top}px`,
              width: `${boxWidth}px`,
              height: `${box.height}px`,
            }}
            tabIndex={index === current ? 0 : -1}
            title={titleOf(box.branch)}
            onFocus={() => setSelected(index)}
            onClick={() => onGo(box.branch)}
            onDblClick={() => onCompare(box.branch)}
            onKeyDown={(event) => onKeyDown(event, index)}
          >
            <BoxText branch={box.branch} root={box.parent === undefined} low={box.height < 40} />
          </button>
        ))}
        {folded.map(({ column, top, paths }) => (
          <span key={column} class="flow-head" style={{ left: `${x(column) + 10}px`, top: `${HEADS + top}px` }}>
            {paths} {paths === 1 ? 'path' : 'paths'} folded
          </span>
        ))}
      </div>
    </section>
  );
}

function BoxText({ branch, root, low }: { readonly branch: Branch; readonly root: boolean; readonly low: boolean }) {
  const { actions, counts } = branch;
  const [first] = actions;
  const scored = counts.passed + counts.failed + counts.truncated;
  const steps = `${actions.length} equal ${actions.length === 1 ? 'step' : 'steps'}`;
  const name = first === undefined ? 'start' : root ? steps : first.kind === 'text' ? 'answer' : nameOf(first);
  const detail =
    first === undefined || root || first.kind === 'text' ? '' : actionText(first).slice(nameOf(first).length);
  return (
    <>
      <span class="flow-bar" aria-hidden="true">
        <i style={{ height: `${scored === 0 ? 0 : (counts.passed / scored) * 100}%` }} />
      </span>
      <span class={`flow-text${low ? ' is-low' : ''}`}>
        <span>{name}</span>
        <span class="dim">{detail}</span>
      </span>
      <span class="flow-count">
        {counts.passed}
        <span class="dim">/{counts.attempts}</span>
        <span class="only-read"> passed</span>
      </span>
    </>
  );
}

function nameOf(action: Branch['actions'][number]): string {
  return action.calls[0]?.name ?? '';
}

function titleOf({ actions }: Branch): string {
  return actions.map((action) => actionText(action)).join('\n');
}

function headOf(tree: Branch, column: number): string {
  const common = tree.actions.length;
  if (column === 0) return common === 0 ? '' : common === 1 ? 'step 1' : `steps 1–${common}`;
  return column === 1 ? `step ${common + 1}, divergence` : column === 2 ? 'then' : '';
}

interface BandProps {
  readonly box: FlowBox;
  readonly parent: FlowBox | undefined;
  readonly unit: number;
  readonly x: (column: number) => number;
  readonly boxWidth: number;
}

/** The attempts that went from one box to the next. */
function Band({ box, parent, unit, x, boxWidth }: BandProps) {
  if (parent === undefined) return null;
  const { attempts, passed } = box.branch.counts;
  const [x0, x1] = [x(parent.column) + boxWidth, x(box.column)];
  const y0 = HEADS + parent.top + box.from;
  const y1 = HEADS + box.top + (box.height - attempts * unit) / 2;
  const middle = (x0 + x1) / 2;
  const shape = (offset: number, height: number): string =>
    `M${x0} ${y0 + offset}C${middle} ${y0 + offset} ${middle} ${y1 + offset} ${x1} ${y1 + offset}v${height}` +
    `C${middle} ${y1 + offset + height} ${middle} ${y0 + offset + height} ${x0} ${y0 + offset + height}Z`;
  const half = (attempts * unit) / 2;
  const line = (shift: number): string =>
    [`M${x0} ${y0 + half + shift}`, `C${middle} ${y0 + half + shift}`, `${middle} ${y1 + half + shift}`].join(' ') +
    ` ${x1} ${y1 + half + shift}`;
  const both = box.left && box.right ? 3 : 0;
  return (
    <>
      {passed > 0 && <path class="flow-passed" d={shape(0, passed * unit)} />}
      {passed < attempts && <path fill="url(#flow-hatch)" d={shape(passed * unit, (attempts - passed) * unit)} />}
      {box.left && <path class="flow-line is-left" d={line(both)} />}
      {box.right && <path class="flow-line is-right" d={line(-both)} />}
    </>
  );
}
