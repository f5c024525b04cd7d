/** Shows the throughput of the batch and the state of the model endpoints. */
import type { ComponentChildren } from 'preact';
import { count, duration, percent } from '../../../src/common/units.ts';
import type { ServerInfo } from '../../../src/protocol/client.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import { Sparkline } from '../../components/chart.tsx';
import type { Flow } from '../figures/flow.ts';
import { Panel } from './panel.tsx';
import type { Samples } from './samples.ts';

interface FlowPanelProps {
  readonly flow: Flow | undefined;
  readonly samples: readonly Samples[];
  readonly server: ServerInfo | undefined;
  readonly report: Report;
  readonly ended: boolean;
}

export function FlowPanel({ flow, samples, server, report, ended }: FlowPanelProps) {
  return (
    <Panel
      name="flow"
      title={ended ? 'Throughput' : 'Throughput and model server'}
      note={flow === undefined ? undefined : stretch(flow, ended)}
    >
      {flow === undefined && report.ms === null ? (
        <p class="batch-panel-none">{ended ? 'No timings in this recording.' : 'Nothing has started yet.'}</p>
      ) : (
        <div class="flow-rows">
          {flow !== undefined && (
            <Row name="rollouts/h" value={count(Math.round(flow.perHour))}>
              <Sparkline values={flow.ends} kind="of-flow" area />
            </Row>
          )}
          {flow !== undefined && (
            <Row name="in flight" value={count(ended ? flow.most : flow.running)} hint={ended ? 'peak' : undefined}>
              <Sparkline values={flow.inFlight} kind="of-flow" />
            </Row>
          )}
          {ended ? <Times report={report} /> : <ServerRows samples={samples} server={server} />}
        </div>
      )}
    </Panel>
  );
}

function ServerRows({ samples, server }: Pick<FlowPanelProps, 'samples' | 'server'>) {
  if (server === undefined) return null;
  const cache = samples.flatMap(({ cache: value }) => value ?? []);
  const { endpoints } = server;
  const troubled = endpoints.find(({ state }) => state !== 'ok');
  const permits = endpoints.reduce((sum, endpoint) => sum + endpoint.permits, 0);
  const running = endpoints.reduce((sum, endpoint) => sum + (endpoint.running ?? 0), 0);
  const waiting = endpoints.reduce((sum, endpoint) => sum + (endpoint.waiting ?? 0), 0);
  const title = endpoints.map(endpointText).join('\n');
  return (
    <>
      <Row name="queue" value={count(server.queued)}>
        <Sparkline values={samples.map(({ queued }) => queued)} kind="of-queue" />
      </Row>
      {cache.length > 0 ? (
        <Row name="KV cache" value={percent(cache.at(-1) ?? 0)} title={title}>
          <Replicas endpoints={endpoints}>
            <Sparkline values={cache} kind="of-cache" max={1} />
          </Replicas>
        </Row>
      ) : (
        endpoints.length > 0 && (
          <Row name="permits" value={count(permits)} title={title}>
            <Replicas endpoints={endpoints}>
              <span class="flow-text">
                {troubled === undefined
                  ? `${count(running)} in use, ${count(waiting)} waiting`
                  : (troubled.text ?? `${nameOf(troubled)} is ${troubled.state}`)}
              </span>
            </Replicas>
          </Row>
        )
      )}
    </>
  );
}

type Endpoint = ServerInfo['endpoints'][number];

/**
 * Summarizes the endpoints, and shows the load of each if there are several: its KV cache if reported, or else its
 * permits.
 */
function Replicas({
  endpoints,
  children,
}: {
  readonly endpoints: readonly Endpoint[];
  readonly children: ComponentChildren;
}) {
  if (endpoints.length < 2) return <>{children}</>;
  return (
    <span class="flow-both">
      <span class="flow-chart">{children}</span>
      <span class="flow-replicas" role="list" aria-label="Replicas">
        {endpoints.map((each) => (
          <span
            key={each.endpoint}
            role="listitem"
            class={`flow-replica is-${each.state}`}
            title={endpointText(each)}
            aria-label={endpointText(each)}
          >
            <i
              class="of-cache"
              style={{
                height: `${100 * Math.min(1, each.kv_cache ?? (each.running ?? 0) / Math.max(1, each.permits))}%`,
              }}
            />
          </span>
        ))}
      </span>
    </span>
  );
}

function nameOf({ replica, endpoint }: Endpoint): string {
  return replica ?? endpoint;
}

function endpointText(each: Endpoint): string {
  return (
    `${nameOf(each)}: ${each.permits} ` +
    `permits${each.running === undefined ? '' : `, ${each.running} running`}` +
    (each.waiting === undefined ? '' : `, ${each.waiting} waiting`) +
    (each.kv_cache === undefined ? '' : `, KV cache ${percent(each.kv_cache)}`) +
    `${each.preemptions === undefined ? '' : `, ${each.preemptions} preempted`}, ` +
    (each.text ?? each.state)
  );
}

function Times({ report: { ms } }: Pick<FlowPanelProps, 'report'>) {
  if (ms === null) return null;
  return (
    <>
      <Row name="time, p50" value={duration(ms.p50)}>
        <Bar share={ms.p50 / Math.max(1, ms.max)} />
      </Row>
      <Row name="time, p95" value={duration(ms.p95)} title={`Longest: ${duration(ms.max)}`}>
        <Bar share={ms.p95 / Math.max(1, ms.max)} />
      </Row>
    </>
  );
}

function Bar({ share }: { readonly share: number }) {
  return (
    <span class="batch-track">
      <i class="of-flow" style={{ width: `${share * 100}%` }} />
    </span>
  );
}

function Row({
  name,
  value,
  hint,
  title,
  children,
}: {
  readonly name: string;
  readonly value: string;
  readonly hint?: string | undefined;
  readonly title?: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="flow-row" title={title}>
      <span class="batch-dim">{name}</span>
      <span class="flow-chart">{children}</span>
      <span class="flow-value">
        {hint !== undefined && <span class="batch-dim">{hint} </span>}
        <b>{value}</b>
      </span>
    </div>
  );
}

function stretch({ from, to }: Flow, ended: boolean): string {
  return `${ended ? 'over ' : 'last '}${duration(to - from)}`;
}
