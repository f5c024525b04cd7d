/** The figures of a batch: up to three panels, or up to four numbers with small charts on a narrow page. */
import type { ComponentChildren } from 'preact';
import { compact, count } from '../../../src/common/units.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import { Line, Plot, Sparkline } from '../../components/chart.tsx';
import type { BatchView, CellAt } from '../batchView.ts';
import type { Causes } from '../figures/causes.ts';
import type { Flow } from '../figures/flow.ts';
import { type TokenLimit, tokenLimitOf } from '../figures/tokenLimit.ts';
import { CausesPanel } from './causesPanel.tsx';
import { FaultsPanel } from './faultsPanel.tsx';
import { OutcomesPanel } from './outcomesPanel.tsx';
import { Panel } from './panel.tsx';
import { PartsPanel, PartsStrip } from './partsPanel.tsx';
import { type Curve, curveOf, PassPanel } from './passPanel.tsx';
import { PredictionsPanel } from './predictionsPanel.tsx';
import { RatesPanel } from './ratesPanel.tsx';
import { RunPanel } from './runPanel.tsx';
import { useSamples } from './samples.ts';
import { ValuesPanel } from './valuesPanel.tsx';
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
  const { report, flow, causes } = view.figures;
  const { ended } = data;
  const limit = tokenLimitOf(report, data.definition?.tokenLimit, ended);
  const curve = curveOf(report, view.width);
  if (page <= 640)
    return (
      <>
        <Numbers report={report} flow={flow} causes={causes} limit={limit} curve={curve} ended={ended} />
        <PartsStrip view={view} parts={report.by_part} />
      </>
    );
  // What has no value is not drawn. While the batch runs, the others hold the place of what can still come.
  const hasPass = curve.points.length > 0 || (report.scored > 0 && report.why['pass_at'] !== undefined);
  const hasRun = !ended || flow !== undefined || report.ms !== null || report.tokens !== null || report.cost !== null;
  const hasCauses = !ended || causes.ended > 0;
  const hasOutcomes = Object.keys(report.by_outcome).length > 0;
  const hasParts = Object.keys(report.by_part).length > 0;
  const hasFaults = Object.keys(report.by_rule).length > 0;
  const hasRates = Object.keys(report.rates).length > 0;
  const hasPredictions = Object.keys(report.predictions).length > 0;
  if (!hasPass && !hasRun && !hasCauses) return null;
  return (
    <div class="batch-panels">
      {hasPass && <PassPanel curve={curve} why={report.why['pass_at']} />}
      {hasRun && (
        <RunPanel flow={flow} samples={samples} server={data.server} report={report} limit={limit} ended={ended} />
      )}
      {report.value !== null && <ValuesPanel value={report.value} />}
      {hasParts && <PartsPanel view={view} parts={report.by_part} />}
      {hasOutcomes && <OutcomesPanel outcomes={report.by_outcome} />}
      {hasFaults && <FaultsPanel rules={report.by_rule} />}
      {hasRates && <RatesPanel rates={report.rates} />}
      {hasPredictions && <PredictionsPanel tools={report.predictions} overall={report.prediction_accuracy} />}
      {hasCauses && <CausesPanel view={view} causes={causes} onOpen={onOpen} />}
    </div>
  );
}

const TITLES = { pass: 'pass@k', run: 'Run', causes: 'Causes' };

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
      {Object.entries(TITLES).map(([name, title]) => (
        <Panel key={name} name={name} title={title} />
      ))}
    </div>
  );
}

interface NumbersProps {
  readonly report: Report;
  readonly flow: Flow | undefined;
  readonly causes: Causes;
  readonly limit: TokenLimit | undefined;
  readonly curve: Curve;
  readonly ended: boolean;
}

/** While the batch runs, all four have their place, so that nothing moves. Then, those without a value are left out. */
function Numbers({ report, flow, causes, limit, curve, ended }: NumbersProps) {
  const rate = report.pass_at?.['1'] ?? undefined;
  const interval = report.intervals.pass_at?.['1'] ?? undefined;
  const { tokens } = report;
  const [most] = causes.all;
  const at = (k: number): number => (curve.most === 1 ? 0.5 : Math.log(k) / Math.log(curve.most));
  return (
    <div class="batch-numbers">
      {(!ended || rate !== undefined) && (
        <Number
          name="pass@1"
          value={rate?.toFixed(2) ?? '–'}
          unit={interval === undefined ? '' : `±${((interval[1] - interval[0]) / 2).toFixed(2).replace(/^0/, '')}`}
        >
          <Plot>
            <Line kind="of-pass" points={curve.points.map(({ k, pass }) => ({ x: at(k), y: pass }))} />
          </Plot>
        </Number>
      )}
      {(!ended || flow !== undefined) && (
        <Number name="rollouts/h" value={flow === undefined ? '–' : count(Math.round(flow.perHour))}>
          {flow !== undefined && <Sparkline values={flow.ends} kind="of-flow" area />}
        </Number>
      )}
      {(!ended || tokens !== null) && <TokenNumber tokens={tokens} limit={limit} />}
      {(!ended || causes.ended > 0) && (
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
      )}
    </div>
  );
}

function TokenNumber({ tokens, limit }: Pick<NumbersProps, 'limit'> & Pick<Report, 'tokens'>) {
  const total = tokens === null ? 0 : tokens.input + tokens.output;
  return (
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
