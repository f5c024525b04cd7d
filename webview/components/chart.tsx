/** Small charts that fill their box. They are decoration: the text next to them has the same information. */
import type { ComponentChildren } from 'preact';
import './chart.css';

export interface ChartPoint {
  /** Both range from 0 to 1; y starts at the bottom. */
  readonly x: number;
  readonly y: number;
}

const SIZE = 100;

function path(points: readonly ChartPoint[]): string {
  return points
    .map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${(x * SIZE).toFixed(2)} ${((1 - y) * SIZE).toFixed(2)}`)
    .join('');
}

/** `kind`: class of the line, for its color. */
export function Line({
  points,
  kind,
  area,
}: {
  readonly points: readonly ChartPoint[];
  readonly kind: string;
  readonly area?: boolean;
}) {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined) return null;
  return (
    <g class={`chart-line ${kind}`}>
      {area === true && (
        <path class="chart-area" d={`${path(points)}L${last.x * SIZE} ${SIZE}L${first.x * SIZE} ${SIZE}Z`} />
      )}
      <path class="chart-stroke" d={path(points)} />
    </g>
  );
}

/** The area between two lines with the same x values. */
export function Band({
  low,
  high,
  kind,
}: {
  readonly low: readonly ChartPoint[];
  readonly high: readonly ChartPoint[];
  readonly kind: string;
}) {
  if (low.length < 2) return null;
  return <path class={`chart-band ${kind}`} d={`${path(high)}${path([...low].reverse()).replace('M', 'L')}Z`} />;
}

export function Plot({ children }: { readonly children: ComponentChildren }) {
  return (
    <svg
      class="chart-plot"
      viewBox={`0 0 ${SIZE} ${SIZE}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  );
}

/** Shows values from left to right. `max`: the value at the top. Default: the largest. */
export function Sparkline({
  values,
  kind,
  max,
  area,
}: {
  readonly values: readonly number[];
  readonly kind: string;
  readonly max?: number;
  readonly area?: boolean;
}) {
  const top = max ?? Math.max(1e-9, ...values);
  const points = values.map((value, i) => ({
    x: values.length < 2 ? 0 : i / (values.length - 1),
    y: 0.04 + 0.92 * Math.min(1, value / top),
  }));
  return <Plot>{points.length > 1 && <Line points={points} kind={kind} area={area === true} />}</Plot>;
}
