/** The figures of a batch: four panels, or four numbers with small charts on a narrow page. */
import type { ComponentChildren } from 'preact';
import { compact, count } from '../../../src/common/units.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import { Line, Plot, Sparkline } from '../../components/chart.tsx';
import type { BatchView, CellAt } from '../batchView.ts';
import type { Causes } from '../figures/causes.ts';
import type { Flow } from '../figures/flow.ts';
import { type TokenLimit, tokenLimitOf } from '../figures/tokenLimit.ts';
import { CausesPanel } from './causesPanel.tsx';
import { FlowPanel } from './flowPanel.tsx';
import { Panel } from './panel.tsx';
import { curveOf, PassPanel } from './passPanel.tsx';
import { useSamples } from './samples.ts';
import { TokenPanel } from './tokenPanel.tsx';
import './panels.css';

interface PanelsProps {
  readonly view: BatchView;
  readonly page: number;
  readonly onOpen: (cell: CellAt) => void;
}

export function Panels({ view, page, onOpen }: PanelsProps) {
  const { data } = view;
  const samples = useSamples(data.server);
  if (view.figures === undefined) return <Waiting narrow={page <= 640} />;
  const { report, flow, causes, wasted } = view.figures;
  const limit = tokenLimitOf(report, data.definition?.tokenLimit, data.ended);
  if (page <= 640) return <Numbers report={report} flow={flow} causes={causes} limit={limit} attempts={view.width} />;
  return (
    <div class="batch-panels">
      <PassPanel report={report} attempts={view.width} />
      {(flow !== undefined || report.ms !== null || !data.ended) && (
        <FlowPanel flow={flow} samples={samples} server={data.server} report={report} ended={data.ended} />
      )}
      {(report.tokens !== null || limit !== undefined) && <TokenPanel report={report} wasted={wasted} limit={limit} />}
      <CausesPanel view={view} causes={causes} onOpen={onOpen} />
    </div>
  );
}

/** A placeholder with the final height. */
function Waiting({ narrow }: { readonly narrow: boolean }) {
  if (narrow)
    return (
      <div class="batch-numbers" aria-busy="true">
        {['pass@1', 'rollouts/h', 'tokens', 'not passed'].map((name) => (
          <Number key={name} name={name} value="" />
        ))}
      </div>
    );
  return (
    <div class="batch-panels" aria-busy="true">
      {['pass@k', 'Throughput', 'Tokens', 'Causes'].map((title) => (
        <Panel key={title} name={title === 'Causes' ? 'causes' : 'waiting'} title={title} />
      ))}
    </div>
  );
}

interface NumbersProps {
  readonly report: Report;
  readonly flow: Flow | undefined;
  readonly causes: Causes;
  readonly limit: TokenLimit | undefined;
  readonly attempts: number;
}

function Numbers({ report, flow, causes, limit, attempts }: NumbersProps) {
  const curve = curveOf(report, attempts);
  const rate = report.pass_at?.['1'];
  const interval = report.intervals.pass_at?.['1'];
  const { tokens } = report;
  const total = tokens === null ? 0 : tokens.input + tokens.output;
  const [most] = causes.all;
  const at = (k: number): number => (curve.most === 1 ? 0.5 : Math.log(k) / Math.log(curve.most));
  return (
    <div class="batch-numbers">
      <Number
        name="pass@1"
        value={rate === undefined || rate === null ? '–' : rate.toFixed(2)}
        unit={
          interval === undefined || interval === null
            ? ''
            : `±${((interval[1] - interval[0]) / 2).toFixed(2).replace(/^0/, '')}`
        }
      >
        <Plot>
          <Line kind="of-pass" points={curve.points.map(({ k, pass }) => ({ x: at(k), y: pass }))} />
        </Plot>
      </Number>
      <Number name="rollouts/h" value={flow === undefined ? '–' : count(Math.round(flow.perHour))}>
        {flow !== undefined && <Sparkline values={flow.ends} kind="of-flow" area />}
      </Number>
      <Number
        name={limit === undefined ? 'tokens' : `tokens of ${compact(limit.most)}`}
        value={tokens === null ? '–' : compact(total)}
      >
        {limit !== undefined && (
          <span class="batch-track tall">
            <i class="of-flow" style={{ width: `${Math.min(100, (100 * limit.used) / limit.most)}%` }} />
          </span>
        )}
        {limit === undefined && tokens !== null && (
          <span class="batch-track tall">
            <i class="of-cached" style={{ width: `${(100 * tokens.cached) / total}%` }} />
            <i class="of-flow" style={{ width: `${(100 * (total - tokens.cached)) / total}%` }} />
          </span>
        )}
      </Number>
      <Number
        name={most === undefined ? 'not passed' : `most often: ${most.text}`}
        value={count(most?.count ?? causes.notPassed)}
      >
        <span class="batch-track tall">
          {causes.all.map((cause) => (
            <i
              key={cause.text}
              class={`of-${cause.outcome} parted`}
              style={{ width: `${(100 * cause.count) / Math.max(1, causes.notPassed)}%` }}
            />
          ))}
        </span>
      </Number>
    </div>
  );
}

function Number({
  name,
  value,
  unit,
  children,
}: {
  readonly name: string;
  readonly value: string;
  readonly unit?: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <section class="batch-number" aria-label={name}>
      <div class="batch-panel-head">
        <h2>{name}</h2>
        <span class="batch-panel-note">
          <b>{value}</b>
          {unit !== undefined && unit !== '' && ` ${unit}`}
        </span>
      </div>
      <div class="batch-number-chart">{children}</div>
    </section>
  );
}
