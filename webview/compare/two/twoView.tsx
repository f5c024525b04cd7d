/** Two attempts side by side: this one and the nearest passed one, with what differs in full. */
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { PageAction } from '../../../src/protocol/page.ts';
import { decidingSplit } from '../../../src/trace/align/deciding.ts';
import { foldedRows, runAt, type SideRow, sideRows } from '../../../src/trace/align/twoSides.ts';
import { say } from '../../components/notices/notice.tsx';
import { KeysOverlay } from '../../components/overlays/keysOverlay.tsx';
import { usePageWidth } from '../../components/pageWidth.ts';
import { useKeys } from '../../keys.ts';
import type { ComparedAttempts } from '../compareData.ts';
import { comparedActions } from '../comparedActions.ts';
import { TWO_KEYS, twoBindings } from '../compareKeys.ts';
import type { ComparePlace } from '../comparePage.tsx';
import { leftOf, nearestIn, nearestTo } from './nearest.ts';
import { type FlowPart, OutcomeFlow } from './outcomeFlow.tsx';
import { PairList } from './pairList.tsx';
import { Reason } from './reason.tsx';
import { SideHead } from './sideHead.tsx';
import type { Side } from './sideStep.tsx';
import { SplitLine } from './splitLine.tsx';
import { TwoFoot } from './twoParts.tsx';
import './twoView.css';

interface TwoViewProps {
  readonly compared: ComparedAttempts;
  /** What to say while the other attempts are read. */
  readonly reading: string;
  readonly place: ComparePlace;
  /** The left attempt; undefined: chosen by the page. */
  readonly rollout: string | undefined;
  readonly onLeft: (rollout: string) => void;
  readonly act: (action: PageAction) => void;
  readonly onAll: () => void;
}

export function TwoView({ compared, reading, place, rollout, onLeft, act, onAll }: TwoViewProps) {
  const { attempts, rows: summaries, checks, whole } = compared;
  const split = useMemo(
    () => (whole === undefined ? undefined : decidingSplit(attempts, whole.alignment)),
    [attempts, whole],
  );
  const hasFlow = whole !== undefined && whole.tree.branches.length > 0;
  /** Whether the columns were shown first: then they stay where they are when the rest appears above them. */
  const [early] = useState(whole === undefined);
  const width = usePageWidth();
  const left = leftOf(attempts, rollout);
  /** undefined: chosen by the page. */
  const [chosen, setChosen] = useState<number>();
  // Before other attempts are painted, so that what a key chooses then is kept.
  useLayoutEffect(() => setChosen(undefined), [place]);
  const nearest = useMemo(() => nearestTo(left, compared), [left, compared]);
  const right = (chosen === left ? undefined : chosen) ?? nearest?.index ?? left;
  const sides = { left, right };
  const [side, setSide] = useState<Side>('left');
  const [keys, setKeys] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<number> | 'all'>(new Set());
  const [leftActions, rightActions] = [attempts[left]?.actions, attempts[right]?.actions];
  const rows = useMemo(() => sideRows(leftActions ?? [], rightActions ?? []), [leftActions, rightActions]);
  const items = useMemo(() => foldedRows(rows, open), [rows, open]);
  const [cursor, setCursor] = useState(() => firstDifference(rows));
  useLayoutEffect(() => {
    setOpen(new Set());
    setCursor(firstDifference(rows));
  }, [rows]);
  const selected = Math.max(
    0,
    items.findLastIndex((item) => item.row <= cursor),
  );

  const { nameOf, open: openAttempt, copy } = comparedActions(compared, place, act);
  const toItem = (index: number): void => setCursor(items[Math.max(0, Math.min(items.length - 1, index))]?.row ?? 0);
  const choose = (of: Side, index: number): void => {
    if (whole === undefined) {
      say('The other attempts are still loading');
      return;
    }
    setSide(of);
    const attempt = attempts[index];
    if (of === 'right') setChosen(index);
    else if (attempt !== undefined) onLeft(attempt.rollout);
  };
  const otherAttempt = (distance: 1 | -1): void => {
    const other = side === 'left' ? right : left;
    const choices = attempts.map((_, index) => index).filter((index) => index !== other);
    const next = choices[(choices.indexOf(sides[side]) + distance + choices.length) % choices.length];
    if (next !== undefined) choose(side, next);
  };
  const difference = (direction: 1 | -1): void => {
    for (let at = cursor + direction; rows[at] !== undefined; at += direction)
      if (rows[at]?.state !== 'same') {
        setCursor(at);
        return;
      }
    say('No more differences');
  };
  const toggle = (row: number): void => {
    const run = runAt(rows, row);
    if (run === undefined) return;
    const before = open === 'all' ? new Set(rows.flatMap((_, at) => runAt(rows, at) ?? [])) : new Set(open);
    if (!before.delete(run)) before.add(run);
    setOpen(before);
    setCursor(run);
  };
  const openAt = (row: number, of: Side, beside = false): void => openAttempt(sides[of], rows[row]?.[of]?.seq, beside);
  useKeys(
    twoBindings({
      row: (distance) => toItem(selected + distance),
      end: (direction) => toItem(direction === 1 ? items.length - 1 : 0),
      side: setSide,
      attempt: otherAttempt,
      difference,
      toggle: () => toggle(cursor),
      toggleAll: () => setOpen(open === 'all' ? new Set() : 'all'),
      open: (beside) => openAt(cursor, side, beside),
      copy: () => copy(sides[side], rows[cursor]?.[side]?.step),
      batch: () => act({ do: 'open', place: { page: 'batch', batch: place.batch } }),
      all: onAll,
      keys: () => setKeys(true),
    }),
    !keys,
  );
  const head = (of: Side) => (
    <SideHead
      side={of}
      focused={side === of}
      index={sides[of]}
      attempts={attempts}
      row={summaries[sides[of]]}
      nameOf={nameOf}
      tag={of === 'right' && right === nearest?.index ? nearest.why : undefined}
      onChoose={(index) => choose(of, index)}
      onFocus={() => setSide(of)}
    />
  );
  const reason = (of: Side) => {
    const [attempt, row] = [attempts[sides[of]], summaries[sides[of]]];
    return attempt === undefined || row === undefined ? null : (
      <Reason attempt={attempt} row={row} checks={checks[sides[of]] ?? []} name={nameOf(sides[of])} />
    );
  };
  const goTo = ({ depth, attempts: members }: FlowPart): void => {
    const shows = (row: SideRow, of: Side): boolean => {
      const action = attempts[sides[of]]?.actions[depth];
      return action !== undefined && row[of] === action;
    };
    const both = ['left', 'right'] as const;
    const found = rows.findIndex((row) => both.some((of) => members.includes(sides[of]) && shows(row, of)));
    // Neither attempt is in it, or they ended before: go to where one of them is in its column, else to the end.
    const beside = rows.findIndex((row) => both.some((of) => shows(row, of)));
    setCursor(found >= 0 ? found : beside >= 0 ? beside : Math.max(0, rows.length - 1));
  };
  return (
    <>
      <div class={`two-overview${early ? ' is-early' : ''}`}>
        {whole === undefined && (
          <p class="compare-reading" role="status">
            {reading}
          </p>
        )}
        {split !== undefined && (
          <SplitLine
            split={split}
            left={hasFlow ? nameOf(left) : undefined}
            right={hasFlow ? nameOf(right) : undefined}
          />
        )}
        {hasFlow && (
          <OutcomeFlow
            tree={whole.tree}
            attempts={attempts}
            left={left}
            right={right}
            nameOf={nameOf}
            width={width}
            onGo={goTo}
            onCompare={({ attempts: members }) => {
              const index = nearestIn(members, left, attempts);
              if (index !== undefined) choose('right', index);
            }}
          />
        )}
      </div>
      <div class="two-view">
        <div class="two-heads two-grid">
          {head('left')}
          <span class="two-sign" />
          {head('right')}
        </div>
        <PairList
          rows={rows}
          items={items}
          selected={selected}
          side={side}
          onSelect={(item, of) => {
            setCursor(item.row);
            setSide(of ?? side);
            if (item.until !== undefined) toggle(item.row);
          }}
          onOpen={(item, of) => {
            if (item.until === undefined) openAt(item.row, of ?? side);
          }}
        />
        <div class="two-grid two-reasons">
          {reason('left')}
          <span class="two-sign" />
          {reason('right')}
        </div>
      </div>
      <TwoFoot onKeys={() => setKeys(true)} />
      {keys && <KeysOverlay groups={TWO_KEYS} onClose={() => setKeys(false)} />}
    </>
  );
}

function firstDifference(rows: ReturnType<typeof sideRows>): number {
  return Math.max(
    0,
    rows.findIndex(({ state }) => state !== 'same'),
  );
}
