/** What all attempts did, as branches as wide as their number: green passed, hatched red did not pass. */
import { Fragment } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { plural } from '../../../src/common/text.ts';
import type { ComparedAttempt } from '../../../src/trace/align/attempt.ts';
import type { Branch } from '../../../src/trace/align/prefixTree.ts';
import { Glyph } from '../../components/marks/glyph.tsx';
import { BranchTree, branchRows } from '../branchTree.tsx';
import { boxBeside, type FlowBox, flowLayout } from './flowLayout.ts';
import { type BoxText, boxText, boxTitle } from './flowText.ts';
import './outcomeFlow.css';

/** Below this width of the page, an outline replaces the boxes. */
const NARROW = 560;
/** From this width on, there is room for the names of attempts. */
const WIDE = 800;
const SIDE = 12;
/** Width right of the last boxes. */
const OUTCOMES = 170;
const NARROW_OUTCOMES = 44;
const SCROLLBAR = 10;
const MAX_WIDTH = 320;
/** Boxes from this height on have two lines. */
const TALL = 40;
const HEADS = 22;
const BOTTOM = 8;

/** The attempts of a box, and the number of their actions before it. */
export type FlowPart = Pick<FlowBox, 'depth' | 'attempts'>;

interface OutcomeFlowProps {
  readonly tree: Branch;
  readonly attempts: readonly ComparedAttempt[];
  readonly left: number;
  readonly right: number;
  readonly nameOf: (index: number) => string;
  /** Width of the page. */
  readonly width: number;
  /** Called with the part whose first step should be shown. */
  readonly onGo: (part: FlowPart) => void;
  /** Called with the part whose nearest attempt should be compared. */
  readonly onCompare: (part: FlowPart) => void;
}

export function OutcomeFlow({ tree, attempts, left, right, nameOf, width, onGo, onCompare }: OutcomeFlowProps) {
  const flow = useMemo(() => flowLayout(tree, attempts, left, right), [tree, attempts, left, right]);
  const outline = useMemo(() => branchRows(tree), [tree]);
  const [selected, setSelected] = useState(0);
  const whole = useRef<HTMLDivElement>(null);
  if (width < NARROW) {
    const partOf = (index: number): FlowPart | undefined => {
      const branch = outline[index]?.branch;
      return branch === undefined ? undefined : { depth: branch.depth, attempts: branch.along.map((one) => one.index) };
    };
    return (
      <section class="flow-outline" aria-label="Outcome flow">
        <BranchTree
          rows={outline}
          selected={Math.min(selected, outline.length - 1)}
          onSelect={(index) => {
            setSelected(index);
            const part = partOf(index);
            if (part !== undefined) onGo(part);
          }}
          onOpen={(index) => {
            const part = partOf(index);
            if (part !== undefined) onCompare(part);
          }}
        />
      </section>
    );
  }
  const { boxes, folded, columns, height, unit } = flow;
  const isWide = width >= WIDE;
  const gap = isWide ? 56 : 22;
  const space = width - 2 * SIDE - (isWide ? OUTCOMES : NARROW_OUTCOMES) - gap * (columns - 1);
  const boxWidth = Math.min(MAX_WIDTH, space / columns);
  const x = (column: number): number => SIDE + column * (boxWidth + gap);
  const onKeyDown = (event: KeyboardEvent, index: number): void => {
    const to = boxBeside(boxes, index, event.key);
    if (!event.key.startsWith('Arrow') && event.key !== 'Enter' && event.key !== ' ') return;
    event.stopPropagation();
    const box = boxes[index];
    if (event.key === 'Enter' && event.shiftKey && box !== undefined) {
      event.preventDefault();
      onCompare(box);
    }
    if (to === undefined) return;
    event.preventDefault();
    setSelected(to);
    whole.current?.querySelectorAll<HTMLElement>('.flow-box')[to]?.focus();
  };
  const current = Math.min(selected, boxes.length - 1);
  return (
    <section class="flow" aria-label="Outcome flow" ref={whole}>
      <div class="flow-size" style={{ height: `${HEADS + height + BOTTOM}px` }}>
        <svg class="flow-bands" width={width - SCROLLBAR} height={HEADS + height + BOTTOM} aria-hidden="true">
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
          <span
            key={column}
            class={`flow-head${column === 1 ? ' is-divergence' : ''}`}
            style={{ left: `${x(column)}px`, width: `${boxWidth + (column === columns - 1 ? 0 : gap - 4)}px` }}
          >
            {headOf(tree, column, columns, boxes)}
          </span>
        ))}
        {boxes.map((box, index) => (
          <Fragment key={index}>
            <button
              type="button"
              class={`flow-box${box.left ? ' is-left' : ''}${box.right ? ' is-right' : ''}`}
              style={{
                left: `${x(box.column)}px`,
                top: `${HEADS + box.top}px`,
                width: `${boxWidth}px`,
                height: `${box.height}px`,
                '--share': shareOf(box.counts),
                '--count': `${box.counts.passed}/${box.counts.attempts}`.length,
              }}
              tabIndex={index === current ? 0 : -1}
              title={boxTitle(box)}
              onFocus={() => setSelected(index)}
              onClick={() => onGo(box)}
              onDblClick={() => onCompare(box)}
              onKeyDown={(event) => onKeyDown(event, index)}
            >
              <BoxContent box={box} text={boxText(box, attempts)} />
            </button>
            {box.ends && (
              <Outcomes
                box={box}
                names={isWide ? [...(box.left ? [nameOf(left)] : []), ...(box.right ? [nameOf(right)] : [])] : []}
                style={{ left: `${x(box.column) + boxWidth + 10}px`, top: `${HEADS + box.top + box.height / 2}px` }}
              />
            )}
          </Fragment>
        ))}
        {folded.map(({ column, top, paths }) => (
          <span key={column} class="flow-head" style={{ left: `${x(column) + 10}px`, top: `${HEADS + top}px` }}>
            {plural(paths, 'path')} folded
          </span>
        ))}
      </div>
    </section>
  );
}

function BoxContent({ box, text }: { readonly box: FlowBox; readonly text: BoxText }) {
  const { counts, height } = box;
  const { name, different, other } = text;
  return (
    <>
      <span class="flow-bar" aria-hidden="true">
        <i style={{ height: shareOf(counts) }} />
      </span>
      <span class={`flow-text${height < TALL ? ' is-low' : ''}${different === '' ? '' : ' has-difference'}`}>
        <span class="flow-name">{name}</span>
        {different !== '' && <span>{different}</span>}
        {other !== '' && <span class="dim">{other}</span>}
      </span>
      <span class="flow-count">
        {counts.passed}
        <span class="dim">/{counts.attempts}</span>
        <span class="only-read"> passed</span>
      </span>
    </>
  );
}

/** Share of the attempts with a verdict that passed. */
function shareOf({ passed, failed, truncated }: FlowBox['counts']): string {
  const scored = passed + failed + truncated;
  return `${scored === 0 ? 0 : (passed / scored) * 100}%`;
}

/** How many of the attempts that end with a box passed and did not, and which of both columns is among them. */
function Outcomes({
  box: { counts },
  names,
  style,
}: {
  readonly box: FlowBox;
  readonly names: readonly string[];
  readonly style: { readonly left: string; readonly top: string };
}) {
  const marks = (['passed', 'failed', 'truncated'] as const).filter((outcome) => counts[outcome] > 0);
  return (
    <span class="flow-outcomes" style={style}>
      {marks.map((outcome) => (
        <span key={outcome}>
          <Glyph outcome={outcome} title={outcome} /> {counts[outcome]}
        </span>
      ))}
      {counts.other > 0 && <span class="dim">{counts.other} other</span>}
      {names.length > 0 && <span class="flow-names">incl. {names.join(', ')}</span>}
    </span>
  );
}

function headOf(tree: Branch, column: number, columns: number, boxes: readonly FlowBox[]): string {
  const common = tree.actions.length;
  if (column === 0) return common === 0 ? '' : common === 1 ? 'step 1' : `steps 1–${common}`;
  if (column === 1) return `step ${common + 1}, divergence`;
  const isEnd = column === columns - 1 && boxes.some((box) => box.column === column && box.kind !== 'ended');
  return isEnd ? 'end' : `step ${common + column}`;
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
  const { attempts, passed } = box.counts;
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
