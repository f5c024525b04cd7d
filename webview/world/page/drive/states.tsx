/** The states of a driven session as a tree: each call leads to the right, each branch has a row. */
import { plural } from '../../../../src/common/text.ts';
import type { DriveState } from '../../../../src/protocol/drive.ts';
import { Button } from '../../../components/controls.tsx';
import type { DriveSession } from './driveSession.ts';

const CELL_WIDTH = 124;
const CELL_HEIGHT = 42;
const DOT_X = CELL_WIDTH / 2;
const DOT_Y = 12;

interface PlacedState {
  readonly state: DriveState;
  readonly column: number;
  readonly row: number;
}

/** Returns the places of states: the first call in a state continues its row, others start one. */
export function placeStates(states: readonly DriveState[]): PlacedState[] {
  const placed = new Map<number, PlacedState>();
  const continued = new Set<number>();
  let rows = 0;
  for (const state of states) {
    const parent = state.parent === undefined ? undefined : placed.get(state.parent);
    const isFirst = parent !== undefined && !continued.has(parent.state.state);
    if (parent !== undefined) continued.add(parent.state.state);
    const row = parent === undefined ? 0 : isFirst ? parent.row : ++rows;
    placed.set(state.state, { state, column: (parent?.column ?? -1) + 1, row });
  }
  return [...placed.values()];
}

export function States({ drive }: { readonly drive: DriveSession }) {
  const placed = placeStates(drive.states);
  const byNumber = new Map(placed.map((each) => [each.state.state, each]));
  const width = (Math.max(0, ...placed.map(({ column }) => column)) + 1) * CELL_WIDTH;
  const height = (Math.max(0, ...placed.map(({ row }) => row)) + 1) * CELL_HEIGHT;
  const isBusy = drive.pending !== undefined;
  return (
    <section class="drive-states" aria-label="States">
      <header class="section-head">
        <h2>States</h2>
        <span class="dim">Click a state to go back. The next call there starts a branch.</span>
        <span class="grow" />
        <Button
          kind="secondary"
          label="Back"
          title="Go to the state before this one ([)"
          disabled={isBusy || drive.state === 0}
          onClick={() => drive.step(-1)}
        />
      </header>
      <div class="drive-states-scroll">
        <div class="drive-states-all" style={{ width: `${width}px`, height: `${height}px` }}>
          <svg width={width} height={height} aria-hidden="true">
            {placed.map((each) => {
              const parent = each.state.parent === undefined ? undefined : byNumber.get(each.state.parent);
              return parent === undefined ? null : <path key={each.state.state} d={lineOf(parent, each)} />;
            })}
          </svg>
          {placed.map(({ state, column, row }) => {
            const isNow = state.state === drive.state;
            const text = state.tool ?? (state.parent === undefined ? 'start' : 'branch');
            const rows = state.rows === 0 ? '' : `, ${plural(state.rows, 'row')} changed`;
            const title = `State ${state.state}: ${text}${rows}`;
            return (
              <button
                key={state.state}
                type="button"
                class={`drive-state${isNow ? ' is-now' : ''}${state.rows > 0 ? ' is-changed' : ''}`}
                aria-current={isNow}
                title={title}
                aria-disabled={isBusy}
                style={{ left: `${column * CELL_WIDTH}px`, top: `${row * CELL_HEIGHT}px`, width: `${CELL_WIDTH}px` }}
                onClick={() => drive.go(state.state)}
              >
                <i aria-hidden="true" />
                <span>{text}</span>
                {state.rows > 0 && <span class="only-read">{plural(state.rows, 'row')} changed</span>}
              </button>
            );
          })}
        </div>
      </div>
    </section>
  );
}

function lineOf(from: PlacedState, to: PlacedState): string {
  const [x1, y1] = [from.column * CELL_WIDTH + DOT_X + 6, from.row * CELL_HEIGHT + DOT_Y];
  const [x2, y2] = [to.column * CELL_WIDTH + DOT_X - 6, to.row * CELL_HEIGHT + DOT_Y];
  if (y1 === y2) return `M ${x1} ${y1} H ${x2}`;
  const middle = (x1 + x2) / 2;
  return `M ${x1} ${y1} C ${middle} ${y1}, ${middle} ${y2}, ${x2} ${y2}`;
}
