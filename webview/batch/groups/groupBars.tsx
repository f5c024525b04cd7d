/**
 * A group as a row of bars: above the line what was better than the mean, below it what was worse. Shapes differ, so
 * that nothing depends on color: rising bars are filled, falling ones outlined, a cross is excluded, and a dot has no
 * advantage.
 */
import type { TaskGroup } from './groupsModel.ts';

export const BARS_HEIGHT = 30;
const MIDDLE = BARS_HEIGHT / 2;
/** A bar is never lower. */
const MIN_BAR = 2;

interface GroupBarsProps {
  readonly group: TaskGroup;
  /** The advantage that a bar of full height has. */
  readonly scale: number;
  /** Width of a member in pixels. */
  readonly cell: number;
  /** The member at the cursor. */
  readonly attempt: number | undefined;
}

export function GroupBars({ group: { members, advantages }, scale, cell, attempt }: GroupBarsProps) {
  const paths = { up: '', down: '', excluded: '', none: '', open: '' };
  const bar = Math.max(1, Math.min(18, cell - (cell > 6 ? 3 : cell > 2 ? 1 : 0.5)));
  const mark = Math.max(1, Math.min(4, bar / 2));
  for (const [i, member] of members.entries()) {
    const middle = i * cell + cell / 2;
    const left = middle - bar / 2;
    const advantage = advantages[i] ?? null;
    if (member.open) paths.open += dot(middle, 1.5);
    else if (advantage === null)
      paths.excluded +=
        `M${middle - mark} ${MIDDLE - mark}l${2 * mark} ${2 * mark}` +
        `M${middle - mark} ${MIDDLE + mark}l${2 * mark} ${-2 * mark}`;
    else if (advantage === 0) paths.none += dot(middle, Math.min(1.5, cell / 3));
    else {
      const height = Math.max(MIN_BAR, Math.min(1, Math.abs(advantage) / scale) * (MIDDLE - 1));
      if (advantage > 0) paths.up += box(left, MIDDLE - height, bar, height);
      else paths.down += box(left + 0.5, MIDDLE + 0.5, Math.max(0.5, bar - 1), Math.max(1, height - 1));
    }
  }
  const width = members.length * cell;
  return (
    <svg
      class="group-bars"
      width={width}
      height={BARS_HEIGHT}
      viewBox={`0 0 ${width} ${BARS_HEIGHT}`}
      aria-hidden="true"
    >
      {attempt !== undefined && (
        <rect
          class="group-bars-at"
          x={(attempt - 1) * cell}
          y="0.5"
          width={Math.max(2, cell)}
          height={BARS_HEIGHT - 1}
        />
      )}
      <path class="group-bars-line" d={`M0 ${MIDDLE}h${width}`} />
      <path class="group-bars-up" d={paths.up} />
      <path class="group-bars-down" d={paths.down} />
      <path class="group-bars-excluded" d={paths.excluded} />
      <path class="group-bars-none" d={paths.none} />
      <path class="group-bars-open" d={paths.open} />
    </svg>
  );
}

function box(x: number, y: number, width: number, height: number): string {
  return `M${x} ${y}h${width}v${height}h${-width}z`;
}

function dot(x: number, radius: number): string {
  const half = (width: number): string => `a${radius} ${radius} 0 1 0 ${width} 0`;
  return `M${x - radius} ${MIDDLE}${half(2 * radius)}${half(-2 * radius)}z`;
}
