/** Shows pass@k with its interval and pass^k, as far as enough attempts are scored. */

import type { Report } from '../../../src/trace/statistics/schema.ts';
import { Band, type ChartPoint, Line, Plot } from '../../components/chart.tsx';
import { Panel } from './panel.tsx';

export interface Curve {
  /** Largest k there can be. */
  readonly most: number;
  /** The last k with enough scored attempts. */
  readonly end: number;
  readonly points: readonly {
    readonly k: number;
    readonly pass: number;
    readonly all: number | undefined;
    readonly low: number | undefined;
    readonly high: number | undefined;
  }[];
}

/** The curve ends where fewer than this share of the tasks have a value. */
const ENOUGH_TASKS = 0.5;

export function curveOf(report: Report, attempts: number): Curve {
  const { pass_at: passAt, pass_all: passAll, tasks_at: tasksAt, intervals } = report;
  const points: Curve['points'][number][] = [];
  for (const key of Object.keys(passAt ?? {})) {
    const pass = passAt?.[key];
    if (pass === undefined || pass === null || (tasksAt[key] ?? 0) < Math.max(1, report.tasks * ENOUGH_TASKS)) continue;
    const interval = intervals.pass_at?.[key];
    points.push({ k: Number(key), pass, all: passAll?.[key] ?? undefined, low: interval?.[0], high: interval?.[1] });
  }
  points.sort((a, b) => a.k - b.k);
  return { most: Math.max(1, attempts), end: points.at(-1)?.k ?? 0, points };
}

/** `why`: why there is no value, although attempts are scored. */
export function PassPanel({ curve, why }: { readonly curve: Curve; readonly why: string | undefined }) {
  const last = curve.points.at(-1);
  const note = last !== undefined && curve.end < curve.most ? `k > ${curve.end} needs more scored attempts` : undefined;
  return (
    <Panel name="pass" title="pass@k" note={note}>
      {last === undefined ? (
        <p class="batch-panel-none">{why !== undefined && `${why.slice(0, 1).toUpperCase()}${why.slice(1)}.`}</p>
      ) : (
        <PassChart curve={curve} last={last} />
      )}
    </Panel>
  );
}

function PassChart({ curve, last }: { readonly curve: Curve; readonly last: Curve['points'][number] }) {
  const at = (k: number): number => (curve.most === 1 ? 0.5 : Math.log(k) / Math.log(curve.most));
  const points = curve.points.map(({ k, pass }): ChartPoint => ({ x: at(k), y: pass }));
  const all = curve.points.flatMap(({ k, all: y }): ChartPoint[] => (y === undefined ? [] : [{ x: at(k), y }]));
  const banded = curve.points.flatMap(({ k, low, high }) =>
    low === undefined || high === undefined ? [] : [{ x: at(k), low, high }],
  );
  const words =
    'pass@k: ' +
    curve.points
      .map(
        ({ k, pass, low, high }) =>
          `k ${k}: ` +
          pass.toFixed(2) +
          (low === undefined || high === undefined ? '' : `, between ${low.toFixed(2)} and ${high.toFixed(2)}`),
      )
      .join('; ');
  return (
    <div class="pass-chart" role="img" aria-label={words} title={words.replaceAll('; ', '\n')}>
      <span class="pass-y">1</span>
      <span class="pass-y half">.5</span>
      <span class="pass-y zero">0</span>
      <div class="pass-plot">
        {[0, 0.5, 1].map((y) => (
          <i key={y} class="pass-line" style={{ bottom: `${y * 100}%` }} />
        ))}
        {curve.end < curve.most && <i class="pass-open" style={{ left: `${at(curve.end) * 100}%` }} />}
        <Plot>
          <Band
            kind="of-pass"
            low={banded.map(({ x, low }) => ({ x, y: low }))}
            high={banded.map(({ x, high }) => ({ x, y: high }))}
          />
          <Line kind="of-all" points={all} />
          <Line kind="of-pass" points={points} />
        </Plot>
        {points.map(({ x, y }) => (
          <i key={x} class="pass-point" style={{ left: `${x * 100}%`, bottom: `${y * 100}%` }} />
        ))}
        {ticks(curve.most).map((k) => (
          <span key={k} class="pass-k" style={{ left: `${at(k) * 100}%` }}>
            {k}
          </span>
        ))}
      </div>
      <div class="pass-names">
        <span>
          <b>
            pass@{last.k} {last.pass.toFixed(2)}
          </b>
        </span>
        {last.all !== undefined && last.k > 1 && (
          <span class="batch-dim">
            pass^{last.k} {last.all.toFixed(2)}
          </span>
        )}
      </div>
    </div>
  );
}

/** Powers of two, and the end; not more than have room. */
function ticks(most: number): number[] {
  const step = most > 64 ? 4 : 2;
  const found: number[] = [];
  for (let k = 1; k * (step === 2 ? 1.4 : 1.8) <= most || k === 1; k *= step) found.push(k);
  return most === 1 ? [1] : [...found, most];
}
