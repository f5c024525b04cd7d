/** The state of the server and of the model endpoints while a batch runs. */
import type { ComponentChildren } from 'preact';
import { count, percent } from '../../../src/common/units.ts';
import type { ServerInfo } from '../../../src/protocol/client.ts';
import { Sparkline } from '../../components/chart.tsx';
import { RunRow } from './runRow.tsx';
import type { Samples } from './samples.ts';

/** Shows the queue of the server, and the load of its model endpoints. */
export function ServerRows({
  samples,
  server,
}: {
  readonly samples: readonly Samples[];
  readonly server: ServerInfo | undefined;
}) {
  if (server === undefined) return null;
  const cache = samples.flatMap(({ cache: value }) => value ?? []);
  const { endpoints } = server;
  const troubled = endpoints.find(({ state }) => state !== 'ok');
  const paused = endpoints.find(({ pause }) => pause !== undefined);
  const permits = endpoints.reduce((sum, endpoint) => sum + endpoint.permits, 0);
  const running = endpoints.reduce((sum, endpoint) => sum + (endpoint.running ?? 0), 0);
  const waiting = endpoints.reduce((sum, endpoint) => sum + (endpoint.waiting ?? 0), 0);
  const isLoadKnown = endpoints.some((endpoint) => endpoint.running !== undefined);
  const title = endpoints.map(endpointText).join('\n');
  return (
    <>
      <RunRow name="queue" value={count(server.queued)}>
        <Sparkline values={samples.map(({ queued }) => queued)} kind="of-queue" />
      </RunRow>
      {paused?.pause !== undefined && (
        <RunRow name="paused" value={nameOf(paused)} title={pauseTitle(paused)}>
          <span class="run-text">by {paused.pause.by}: model calls wait</span>
        </RunRow>
      )}
      {cache.length > 0 ? (
        <RunRow name="KV cache" value={percent(cache.at(-1) ?? 0)} title={title}>
          <Replicas endpoints={endpoints}>
            <Sparkline values={cache} kind="of-cache" max={1} />
          </Replicas>
        </RunRow>
      ) : (
        endpoints.length > 0 && (
          <RunRow name="permits" value={count(permits)} title={title}>
            <Replicas endpoints={endpoints}>
              <span class="run-text">
                {troubled !== undefined
                  ? (troubled.text ?? `${nameOf(troubled)} is ${troubled.state}`)
                  : isLoadKnown
                    ? `${count(running)} in use, ${count(waiting)} waiting`
                    : (endpoints.find(({ router }) => router !== undefined)?.router ?? 'load not reported')}
              </span>
            </Replicas>
          </RunRow>
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
    <span class="run-both">
      <span class="run-chart">{children}</span>
      <span class="run-replicas" role="list" aria-label="Replicas">
        {endpoints.map((each) => (
          <span
            key={each.endpoint}
            role="listitem"
            class={`run-replica is-${each.state}`}
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

function pauseTitle({ endpoint, service, replica }: Endpoint): string {
  const of = replica === undefined ? '' : ` --replica ${replica}`;
  return `A trainer paused it to change the weights. To resume it: rollout endpoint resume ${service ?? endpoint}${of}`;
}

function endpointText(each: Endpoint): string {
  return (
    `${nameOf(each)}: ${each.permits} ` +
    `permits${each.running === undefined ? '' : `, ${each.running} running`}` +
    (each.waiting === undefined ? '' : `, ${each.waiting} waiting`) +
    (each.kv_cache === undefined ? '' : `, KV cache ${percent(each.kv_cache)}`) +
    (each.router === undefined ? '' : `, ${each.router}`) +
    `${each.preemptions === undefined ? '' : `, ${each.preemptions} preempted`}, ` +
    (each.weights === undefined ? '' : `weights ${each.weights}, `) +
    (each.pause === undefined ? (each.text ?? each.state) : `paused by ${each.pause.by}`)
  );
}
