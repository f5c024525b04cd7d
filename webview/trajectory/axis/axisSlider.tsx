/** The part of the axis that takes keys: a slider over the positions of the cursor. */
import type { ComponentChildren } from 'preact';
import { troubleOf } from '../../../src/trace/trouble.ts';
import { referenceOf } from '../reference.ts';
import type { TrajectorySession } from '../session.ts';
import { TROUBLE_WORDS } from './axisTitle.ts';

interface AxisSliderProps {
  readonly session: TrajectorySession;
  /** Zooms by a factor, below 1 = closer. Absent if it cannot be zoomed. */
  readonly onZoom?: (factor: number) => void;
  readonly children: ComponentChildren;
}

export const ZOOM = 1.2;

export function AxisSlider({ session, onZoom, children }: AxisSliderProps) {
  const { model } = session.data;
  const step = model.stepOf(session.seq)?.index ?? 0;
  const trouble = troubleOf(model.span(session.seq));
  const onKeyDown = (event: KeyboardEvent): void => {
    const moves: Readonly<Record<string, () => void>> = {
      ArrowRight: () => session.moves.row(1),
      ArrowLeft: () => session.moves.row(-1),
      Home: () => session.moves.end('first'),
      End: () => session.moves.end('last'),
      ...(onZoom === undefined ? {} : { '+': () => onZoom(1 / ZOOM), '-': () => onZoom(ZOOM) }),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  };
  return (
    <div
      class="axis-keys"
      role="slider"
      tabIndex={0}
      aria-label="Position in time"
      aria-valuemin={1}
      aria-valuemax={Math.max(1, model.last)}
      aria-valuenow={Math.max(1, session.seq)}
      aria-valuetext={
        `step ${step}, ${trouble === undefined ? '' : `${TROUBLE_WORDS[trouble]}, `}` + referenceOf(session)
      }
      onKeyDown={onKeyDown}
    >
      {children}
    </div>
  );
}
