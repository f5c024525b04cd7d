/** The items of the Targets view: where batches run, and the endpoints they call. */
import type { ServerInfo } from '../../../protocol/client.ts';
import { plural } from '../../../trace/text/units.ts';
import type { Look } from '../look.ts';

export interface TargetNode {
  readonly id: string;
  readonly look: Look;
  readonly children: readonly TargetNode[];
}

/** `state`: whether the server is reached now; `info` may be from before. */
export function targetNodes(info: ServerInfo, state: 'ok' | 'lost' | 'stopped'): TargetNode[] {
  const work = [`${info.running} running`, info.held > 0 ? `${info.held} held` : '', info.queued > 0 ? `${info.queued} queued` : ''].filter((part) => part !== '').join(' · ');
  const description = state === 'ok' ? work : state === 'lost' ? 'connecting…' : 'stopped';
  const local: TargetNode = {
    id: 'local',
    look: {
      label: 'local', description, context: 'target.local', spoken: `Target local, ${description}`,
      tooltip: `${info.product}\nprocess ${info.pid}\nstarted ${new Date(info.started_at).toLocaleString()}\nstore ${info.store}`,
      icon: state === 'ok' ? { id: 'vm-active', color: 'testing.iconPassed' } : state === 'lost' ? { id: 'vm-connect', color: 'charts.yellow' } : { id: 'vm-outline' },
    },
    children: [
      leaf('local/store', { label: 'Store', description: info.store, tooltip: info.store, icon: { id: 'database' }, context: 'store', spoken: `Store ${info.store}` }),
      ...info.workers.map((worker): TargetNode => {
        const said = worker.alive ? `${worker.running}/${worker.slots} slots${worker.held > 0 ? ` · ${worker.held} held` : ''}` : 'lost';
        return leaf(`worker/${worker.session}`, { label: worker.worker, description: said, tooltip: `Worker ${worker.worker}, session ${worker.session}`, icon: worker.alive ? { id: 'server-process' } : { id: 'warning', color: 'charts.orange' }, context: 'worker', spoken: `Worker ${worker.worker}, ${said}` });
      }),
    ],
  };
  return [local, ...(info.endpoints.length === 0 ? [] : [endpointsNode(info)])];
}

const ENDPOINT_ICONS = { ok: { id: 'circle-filled', color: 'testing.iconPassed' }, busy: { id: 'watch', color: 'charts.yellow' }, down: { id: 'debug-disconnect', color: 'testing.iconFailed' } } as const;

function endpointsNode({ endpoints }: ServerInfo): TargetNode {
  const description = plural(endpoints.length, 'endpoint');
  return {
    id: 'endpoints', look: { label: 'Model endpoints', description, icon: { id: 'cloud' }, context: 'endpoints', spoken: `Model endpoints, ${description}` },
    children: endpoints.map((each) => {
      const said = [
        each.state === 'ok' ? '' : each.state,
        `${each.running === undefined ? '' : `${each.running} of `}${plural(each.permits, 'permit')}`,
        each.waiting === undefined || each.waiting === 0 ? '' : `${each.waiting} waiting`,
        each.kv_cache === undefined ? '' : `KV cache ${Math.round(each.kv_cache * 100)} %`,
      ].filter((part) => part !== '').join(' · ');
      return leaf(`endpoint/${each.endpoint}`, { label: each.endpoint, description: said, tooltip: [each.endpoint, said, each.preemptions === undefined ? '' : plural(each.preemptions, 'preemption'), each.text ?? ''].filter((line) => line !== '').join('\n'), icon: ENDPOINT_ICONS[each.state], context: 'endpoint', spoken: `Endpoint ${each.endpoint}, ${said}` });
    }),
  };
}

function leaf(id: string, look: Look): TargetNode {
  return { id, look, children: [] };
}
