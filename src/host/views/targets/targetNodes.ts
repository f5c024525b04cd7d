/** The items of the Targets view: where batches may run, what is known of each, and the endpoints they call. */
import { LOCAL } from '../../../client/targets/local.ts';
import { plural } from '../../../common/text.ts';
import type { ServerInfo } from '../../../protocol/client.ts';
import type { ServerState } from '../../../protocol/page.ts';
import { type Finding, hasServer } from '../../targets/findings.ts';
import type { KnownTarget } from '../../targets/knownTargets.ts';
import type { Icon, Look } from '../look.ts';

export interface TargetNode {
  readonly id: string;
  readonly look: Look;
  /** Name of the target it is or belongs to, for commands. */
  readonly target?: string;
  /** What is known of the target is asked when the node is opened, and stands before its children. */
  readonly asks?: true;
  readonly children: readonly TargetNode[];
  readonly closed?: true;
}

/** What the view goes by. */
export interface TargetsSeen {
  readonly targets: readonly KnownTarget[];
  /** Name of the one the window works with. */
  readonly used: string;
  /** Whether its server is reached now. */
  readonly state: ServerState['state'];
  /** What its server said of itself, which may be from before. */
  readonly info: ServerInfo | undefined;
  /** What was found of a target; undefined while nobody asked. */
  readonly findings: (target: string) => readonly Finding[] | undefined;
}

/** Nothing where there is only this machine, and no server on it: the view then says what one can do. */
export function targetNodes(seen: TargetsSeen): TargetNode[] {
  const { targets, used, info } = seen;
  if (targets.length === 0 && used === LOCAL && info === undefined) return [];
  const lost = used === LOCAL || targets.some(({ name }) => name === used) ? [] : [unknownNode(used)];
  return [
    localNode(seen),
    ...targets.map((target) => targetNode(target, seen)),
    ...lost,
    ...(info === undefined || info.endpoints.length === 0 ? [] : [endpointsNode(info)]),
  ];
}

function localNode({ used, info, state }: TargetsSeen): TargetNode {
  if (used !== LOCAL) {
    return {
      id: LOCAL,
      target: LOCAL,
      look: {
        label: LOCAL,
        description: 'this machine',
        icon: { id: 'device-desktop' },
        context: 'target.local.idle',
        spoken: 'Target local, this machine',
      },
      children: [],
    };
  }
  const description = `in use · ${info === undefined && state === 'ok' ? 'not running' : work(info, state, 'stopped')}`;
  return {
    // Another item than the one without children: VS Code shows that one closed for ever.
    id: info === undefined ? LOCAL : `${LOCAL}/server`,
    target: LOCAL,
    look: {
      label: LOCAL,
      description,
      context: info === undefined || state === 'stopped' ? 'target.local.used.stopped' : 'target.local.used',
      spoken: `Target local, ${description.replace(' · ', ', ')}`,
      icon: info === undefined ? USED_ICONS.stopped : USED_ICONS[state],
      ...(info === undefined ? {} : { tooltip: processText(info) }),
    },
    children:
      info === undefined
        ? []
        : [
            leaf('local/store', {
              label: 'Store',
              description: info.store,
              tooltip: info.store,
              icon: { id: 'database' },
              context: 'store',
              spoken: `Store ${info.store}`,
            }),
            ...info.workers.map(workerNode),
          ],
  };
}

function targetNode(target: KnownTarget, { used, state, info, findings }: TargetsSeen): TargetNode {
  const { name, kind, place } = target;
  const isUsed = name === used;
  const installed = isUsed && info !== undefined && state === 'ok' ? true : hasServer(findings(name));
  const context = [
    'target',
    kind,
    isUsed ? 'used' : 'idle',
    installed === undefined ? 'unknown' : installed ? 'installed' : 'missing',
  ].join('.');
  const description = isUsed
    ? `in use · ${info === undefined && state === 'ok' ? 'connecting…' : work(info, state, 'not connected')}`
    : place.replace(/ \(.*\)$/, '');
  const workers = isUsed ? (info?.workers ?? []) : [];
  const tooltip = [name, place, ...(isUsed && info !== undefined ? [processText(info)] : [])].join('\n');
  return {
    id: `target/${name}`,
    target: name,
    asks: true,
    look: {
      label: name,
      description,
      tooltip,
      context,
      icon: isUsed ? USED_ICONS[info === undefined && state === 'ok' ? 'lost' : state] : IDLE_ICONS[kind],
      spoken: `Target ${name}, ${description.replace(' · ', ', ')}`,
    },
    children: workers.length === 0 ? [] : [workersNode(name, workers)],
  };
}

/** Other shapes than those that are not in use, so that it does not hang on colour. */
const USED_ICONS: Readonly<Record<ServerState['state'], Icon>> = {
  ok: { id: 'vm-active', color: 'testing.iconPassed' },
  lost: { id: 'vm-connect', color: 'charts.yellow' },
  stopped: { id: 'vm-outline' },
};
const IDLE_ICONS: Readonly<Record<KnownTarget['kind'], Icon>> = {
  cluster: { id: 'server-environment' },
  url: { id: 'globe' },
};

function work(info: ServerInfo | undefined, state: ServerState['state'], stopped: string): string {
  if (state === 'stopped' || (info === undefined && state === 'ok')) return stopped;
  if (state === 'lost' || info === undefined) return 'connecting…';
  return [
    `${info.running} running`,
    info.held > 0 ? `${info.held} held` : '',
    info.queued > 0 ? `${info.queued} queued` : '',
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

function processText({ product, pid, started_at, store }: ServerInfo): string {
  return `${product}\nprocess ${pid}\nstarted ${new Date(started_at).toLocaleString()}\nstore ${store}`;
}

/** The settings name it, but it was removed or never added here. */
function unknownNode(name: string): TargetNode {
  const text = 'in use, but not among the targets';
  return {
    id: `target/${name}`,
    target: name,
    look: {
      label: name,
      description: text,
      tooltip: `The setting rollout.target names ${name}, which was not added on this machine.`,
      icon: { id: 'warning', color: 'charts.orange' },
      context: 'target.lost.used',
      spoken: `Target ${name}, ${text}`,
    },
    children: [],
  };
}

function workersNode(target: string, workers: ServerInfo['workers']): TargetNode {
  const description = plural(workers.filter(({ alive }) => alive).length, 'worker');
  return {
    id: `target/${target}/workers`,
    closed: true,
    look: {
      label: 'Workers',
      description,
      icon: { id: 'server-process' },
      context: 'workers',
      spoken: `Workers, ${description}`,
    },
    children: workers.map(workerNode),
  };
}

function workerNode({ session, worker, alive, running, slots, held }: ServerInfo['workers'][number]): TargetNode {
  const said = alive ? `${running}/${slots} slots${held > 0 ? ` · ${held} held` : ''}` : 'lost';
  return leaf(`worker/${session}`, {
    label: worker,
    description: said,
    tooltip: `Worker ${worker}, session ${session}`,
    icon: alive ? { id: 'server-process' } : { id: 'warning', color: 'charts.orange' },
    context: 'worker',
    spoken: `Worker ${worker}, ${said}`,
  });
}

const ENDPOINT_ICONS = {
  ok: { id: 'circle-filled', color: 'testing.iconPassed' },
  busy: { id: 'watch', color: 'charts.yellow' },
  down: { id: 'debug-disconnect', color: 'testing.iconFailed' },
} as const;

function endpointsNode({ endpoints }: ServerInfo): TargetNode {
  const description = plural(endpoints.length, 'endpoint');
  return {
    id: 'endpoints',
    look: {
      label: 'Model endpoints',
      description,
      icon: { id: 'cloud' },
      context: 'endpoints',
      spoken: `Model endpoints, ${description}`,
    },
    children: endpoints.map((each) => {
      const said = [
        each.state === 'ok' ? '' : each.state,
        `${each.running === undefined ? '' : `${each.running} of `}${plural(each.permits, 'permit')}`,
        each.waiting === undefined || each.waiting === 0 ? '' : `${each.waiting} waiting`,
        each.kv_cache === undefined ? '' : `KV cache ${Math.round(each.kv_cache * 100)}%`,
      ]
        .filter((part) => part !== '')
        .join(' · ');
      return leaf(`endpoint/${each.endpoint}`, {
        label: each.replica ?? each.endpoint,
        description: said,
        tooltip: [
          each.endpoint,
          each.service === undefined ? '' : `Replica of ${each.service}`,
          said,
          each.preemptions === undefined ? '' : plural(each.preemptions, 'preemption'),
          each.text ?? '',
        ]
          .filter((line) => line !== '')
          .join('\n'),
        icon: ENDPOINT_ICONS[each.state],
        context: 'endpoint',
        spoken: `Endpoint ${each.replica ?? each.endpoint}, ${said}`,
      });
    }),
  };
}

/** An item with nothing below it. */
export function leaf(id: string, look: Look): TargetNode {
  return { id, look, children: [] };
}
