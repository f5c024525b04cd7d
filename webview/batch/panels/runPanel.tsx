/** How the batch runs: its throughput, the time of its attempts, the model endpoints, and its tokens. */
import { count, duration } from '../../../src/common/units.ts';
import type { ServerInfo } from '../../../src/protocol/client.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import { Sparkline } from '../../components/chart.tsx';
import type { Flow } from '../figures/flow.ts';
import type { TokenLimit } from '../figures/tokenLimit.ts';
import { Panel } from './panel.tsx';
import { RunRow } from './runRow.tsx';
import type { Samples } from './samples.ts';
import { ServerRows } from './serverRows.tsx';
import { TokenRows } from './tokenRows.tsx';

interface RunPanelProps {
  readonly flow: Flow | undefined;
  readonly samples: readonly Samples[];
  readonly server: ServerInfo | undefined;
  readonly report: Report;
  readonly limit: TokenLimit | undefined;
  readonly ended: boolean;
}

export function RunPanel({ flow, samples, server, report, limit, ended }: RunPanelProps) {
  const note = flow === undefined ? undefined : `${ended ? 'over' : 'last'} ${duration(flow.to - flow.from)}`;
  return (
    <Panel name="run" title="Run" note={note}>
      {flow === undefined && report.tokens === null && server === undefined && report.ms === null ? (
        <p class="batch-panel-none">Nothing has started yet.</p>
      ) : (
        <div class="run-rows">
          {flow !== undefined && (
            <>
              <RunRow name="rollouts/h" value={count(Math.round(flow.perHour))}>
                <Sparkline values={flow.ends} kind="of-flow" area />
              </RunRow>
              <RunRow
                name="in flight"
                value={count(ended ? flow.most : flow.running)}
                hint={ended ? 'peak' : undefined}
              >
                <Sparkline values={flow.inFlight} kind="of-flow" />
              </RunRow>
            </>
          )}
          {ended ? <Times report={report} /> : <ServerRows samples={samples} server={server} />}
          <TokenRows report={report} limit={limit} />
        </div>
      )}
    </Panel>
  );
}

function Times({ report: { ms } }: Pick<RunPanelProps, 'report'>) {
  if (ms === null) return null;
  const share = (value: number): string => `${(100 * value) / Math.max(1, ms.max)}%`;
  const title =
    `Half of the attempts took ${duration(ms.p50)} or less, 95% ${duration(ms.p95)} or less, ` +
    `the longest ${duration(ms.max)}.`;
  return (
    <RunRow name="p50, p95" value={`${duration(ms.p50)}, ${duration(ms.p95)}`} title={title}>
      <span class="batch-track">
        <i class="of-flow" style={{ width: share(ms.p50) }} />
        <i class="of-cached" style={{ width: share(ms.p95 - ms.p50) }} />
      </span>
    </RunRow>
  );
}
