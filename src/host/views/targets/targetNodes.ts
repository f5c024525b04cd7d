/** Builds the items of the Targets view: targets, their findings, and model endpoints. */
import { LOCAL } from '../../../client/targets/local.ts';
import { plural } from '../../../common/text.ts';
import type { ServerInfo } from '../../../protocol/client.ts';
import type { ServerState } from '../../../protocol/page.ts';
import type { SharesReply } from '../../../protocol/shares.ts';
import { type Finding, hasServer } from '../../targets/findings.ts';
import type { ConfiguredTarget } from '../../targets/targetRegistry.ts';
import type { Icon, ItemContent } from '../itemContent.ts';
import { shareNodes } from './shareNodes.ts';

export interface TargetNode {
  readonly id: string;
  readonly item: ItemContent;
  /** Name of its target, for commands. */
  readonly target?: string;
  /** Whether expanding the node loads the target's findings, which are shown around its children. */
  readonly loadsFindings?: true;
  readonly children: readonly TargetNode[];
  readonly collapsed?: true;
  /** The batch that a click opens. */
  readonly opens?: string;
}

/** Input of the view. */
export interface TargetsState {
  readonly targets: readonly ConfiguredTarget[];
  /** Name of the window's target. */
  readonly current: string;
  /** Connection state of its server. */
  readonly state: ServerState['state'];
  /** Whether the connection dropped several times lately. */
  readonly isUnstable?: boolean;
  /** Last known server info. */
  readonly info: ServerInfo | undefined;
  /** How the server divides what it has; undefined if it does not say. */
  readonly shares?: SharesReply | undefined;
  /** Returns the name of a batch, if it is known. */
  readonly batchName?: (batch: string) => string | undefined;
  /** Returns the findings of a target, or undefined if not loaded. */
  readonly findings: (target: string) => readonly Finding[] | undefined;
}

/** Returns no items if there is only this machine without a server, so that the view shows its welcome content. */
export function targetNodes(targetsState: TargetsState): TargetNode[] {
  const { targets, current, info } = targetsState;
  if (targets.length === 0 && current === LOCAL && info === undefined) return [];
  const missing = current === LOCAL || targets.some(({ name }) => name === current) ? [] : [unknownNode(current)];
  return [
    localNode(targetsState),
    ...targets.map((target) => targetNode(target, targetsState)),
    ...missing,
    ...(info === undefined || info.endpoints.length === 0 ? [] : [endpointsNode(info)]),
  ];
}

function localNode(targetsState: TargetsState): TargetNode {
  const { current, info, state } = targetsState;
  if (current !== LOCAL) {
    return {
      id: LOCAL,
      target: LOCAL,
      item: {
        label: LOCAL,
        description: 'this machine',
        icon: { id: 'device-desktop' },
        context: 'target.local.idle',
        ariaLabel: 'Target local, this machine',
      },
      children: [],
    };
  }
  const status = info === undefined && state === 'ok' ? 'not running' : workText(info, state, 'stopped');
  const description = `in use · ${status}`;
  return {
    // Use another ID than without children, because VS Code would keep that item collapsed.
    id: info === undefined ? LOCAL : `${LOCAL}/server`,
    target: LOCAL,
    item: {
      label: LOCAL,
      description,
      context: info === undefined || state === 'stopped' ? 'target.local.used.stopped' : 'target.local.used',
      ariaLabel: `Target local, ${description.replace(' · ', ', ')}`,
      icon: info === undefined ? CURRENT_ICONS.stopped : CURRENT_ICONS[state],
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
              ariaLabel: `Store ${info.store}`,
            }),
            ...info.workers.map(workerNode),
            ...sharesOf(LOCAL, targetsState),
          ],
  };
}

/** Without a number, which would replace all items each time that it changes. */
const UNSTABLE = 'The connection dropped several times in the last minute. Streams continue where they were.';

function targetNode(target: ConfiguredTarget, targetsState: TargetsState): TargetNode {
  const { current, state, info, findings } = targetsState;
  const { name, kind, place } = target;
  const isCurrent = name === current;
  const installed = isCurrent && info !== undefined && state === 'ok' ? true : hasServer(findings(name));
  const context = [
    'target',
    kind,
    isCurrent ? 'used' : 'idle',
    installed === undefined ? 'unknown' : installed ? 'installed' : 'missing',
  ].join('.');
  const unstable = isCurrent && targetsState.isUnstable === true && state === 'ok';
  const description = isCurrent
    ? `in use · ${info === undefined && state === 'ok' ? 'connecting…' : workText(info, state, 'not connected')}` +
      (unstable ? ' · unstable connection' : '')
    : place.replace(/ \(.*\)$/, '');
  const workers = isCurrent ? (info?.workers ?? []) : [];
  const tooltip = [
    name,
    place,
    ...(unstable ? [UNSTABLE] : []),
    ...(isCurrent && info !== undefined ? [processText(info)] : []),
  ].join('\n');
  return {
    id: `target/${name}`,
    target: name,
    loadsFindings: true,
    item: {
      label: name,
      description,
      tooltip,
      context,
      icon: isCurrent ? CURRENT_ICONS[info === undefined && state === 'ok' ? 'lost' : state] : IDLE_ICONS[kind],
      ariaLabel: `Target ${name}, ${description.replace(' · ', ', ')}`,
    },
    children: [
      ...(workers.length === 0 ? [] : [workersNode(name, workers)]),
      ...(isCurrent && info !== undefined ? sharesOf(name, targetsState) : []),
    ],
  };
}

function sharesOf(target: string, { shares, batchName = () => undefined }: TargetsState): TargetNode[] {
  return shareNodes({ target, shares, batchName, isOwn: target === LOCAL });
}

/** Icons of used targets differ in shape, so that the state does not depend on color. */
const CURRENT_ICONS: Readonly<Record<ServerState['state'], Icon>> = {
  ok: { id: 'vm-active', color: 'testing.iconPassed' },
  lost: { id: 'vm-connect', color: 'charts.yellow' },
  stopped: { id: 'vm-outline' },
};
const IDLE_ICONS: Readonly<Record<ConfiguredTarget['kind'], Icon>> = {
  cluster: { id: 'server-environment' },
  url: { id: 'globe' },
};

function workText(info: ServerInfo | undefined, state: ServerState['state'], stopped: string): string {
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

function processText({ product, pid, started_at, store, you }: ServerInfo): string {
  // Whoever has the full token may do everything.
  const isSpecial = you !== undefined && (you.user !== undefined || !you.rights.includes('control'));
  const caller = isSpecial
    ? `\nconnected ${you.user === undefined ? 'with a read token' : `as ${you.user}`}: ${you.rights.join(', ')}`
    : '';
  return `${product}\nprocess ${pid}\nstarted ${new Date(started_at).toLocaleString()}\nstore ${store}${caller}`;
}

/** Item of a target in the settings that does not exist on this machine. */
function unknownNode(name: string): TargetNode {
  const text = 'in use, but not found';
  return {
    id: `target/${name}`,
    target: name,
    item: {
      label: name,
      description: text,
      tooltip: `The target ${name} in the setting rollout.target does not exist on this machine.`,
      icon: { id: 'warning', color: 'charts.orange' },
      context: 'target.lost.used',
      ariaLabel: `Target ${name}, ${text}`,
    },
    children: [],
  };
}

function workersNode(target: string, workers: ServerInfo['workers']): TargetNode {
  const description = plural(workers.filter(({ alive }) => alive).length, 'worker');
  return {
    id: `target/${target}/workers`,
    collapsed: true,
    item: {
      label: 'Workers',
      description,
      icon: { id: 'server-process' },
      context: 'workers',
      ariaLabel: `Workers, ${description}`,
    },
    children: workers.map(workerNode),
  };
}

function workerNode({ session, worker, alive, running, slots, held }: ServerInfo['workers'][number]): TargetNode {
  const status = alive ? `${running}/${slots} slots${held > 0 ? ` · ${held} held` : ''}` : 'lost';
  return leaf(`worker/${session}`, {
    label: worker,
    description: status,
    tooltip: `Worker ${worker}, session ${session}`,
    icon: alive ? { id: 'server-process' } : { id: 'warning', color: 'charts.orange' },
    context: 'worker',
    ariaLabel: `Worker ${worker}, ${status}`,
  });
}

const ENDPOINT_ICONS = {
  ok: { id: 'circle-filled', color: 'testing.iconPassed' },
  busy: { id: 'watch', color: 'charts.yellow' },
  down: { id: 'debug-disconnect', color: 'testing.iconFailed' },
} as const;
const PAUSED_ICON = { id: 'debug-pause', color: 'charts.yellow' } as const;

function endpointsNode({ endpoints }: ServerInfo): TargetNode {
  const description = plural(endpoints.length, 'endpoint');
  return {
    id: 'endpoints',
    item: {
      label: 'Model endpoints',
      description,
      icon: { id: 'cloud' },
      context: 'endpoints',
      ariaLabel: `Model endpoints, ${description}`,
    },
    children: endpoints.map((each) => {
      const status = [
        each.pause !== undefined ? `paused by ${each.pause.by}` : each.state === 'ok' ? '' : each.state,
        each.weights === undefined ? '' : `weights ${each.weights}`,
        `${each.running === undefined ? '' : `${each.running} of `}${plural(each.permits, 'permit')}`,
        each.waiting === undefined || each.waiting === 0 ? '' : `${each.waiting} waiting`,
        each.kv_cache === undefined ? '' : `KV cache ${Math.round(each.kv_cache * 100)}%`,
      ]
        .filter((part) => part !== '')
        .join(' · ');
      return leaf(`endpoint/${each.endpoint}`, {
        label: each.replica ?? each.endpoint,
        description: status,
        tooltip: [
          each.endpoint,
          each.service === undefined ? '' : `Replica of ${each.service}`,
          status,
          each.router === undefined ? '' : `Router: ${each.router}. Their load is unknown.`,
          each.preemptions === undefined ? '' : plural(each.preemptions, 'preemption'),
          each.text ?? '',
        ]
          .filter((line) => line !== '')
          .join('\n'),
        icon: each.pause === undefined ? ENDPOINT_ICONS[each.state] : PAUSED_ICON,
        context: 'endpoint',
        ariaLabel: `Endpoint ${each.replica ?? each.endpoint}, ${status}`,
      });
    }),
  };
}

/** Returns an item without children. */
export function leaf(id: string, item: ItemContent): TargetNode {
  return { id, item, children: [] };
}
