/** Builds the status bar item of the target. */
import { LOCAL } from '../../client/targets/local.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { ServerState } from '../../protocol/page.ts';
import { batchText, isLive } from '../batches/batchText.ts';
import type { ConfiguredTarget } from './targetRegistry.ts';

interface TargetItem {
  readonly text: string;
  readonly tooltip: string;
  /** Label for screen readers, without icons. */
  readonly label: string;
}

export interface TargetItemInput {
  readonly targets: readonly ConfiguredTarget[];
  /** Name of the window's target. */
  readonly current: string;
  readonly state: ServerState;
  /** How often its connection dropped lately, if that is often. */
  readonly unstable?: string | undefined;
  /** Product of its server; undefined while not connected. */
  readonly product: string | undefined;
  readonly batches: readonly BatchRow[];
}

const MAX_BATCHES = 10;

/** Returns undefined if there are no targets besides this machine. */
export function targetItem({
  targets,
  current,
  state,
  unstable,
  product,
  batches,
}: TargetItemInput): TargetItem | undefined {
  if (targets.length === 0 && current === LOCAL) return undefined;
  const target = targets.find(({ name }) => name === current);
  const icon =
    current === LOCAL
      ? 'vm'
      : target === undefined
        ? 'warning'
        : target.kind === 'url'
          ? 'globe'
          : 'server-environment';
  const place = current === LOCAL ? 'this machine' : (target?.place ?? 'not among the targets');
  const server =
    state.state === 'ok' ? (product ?? 'Not connected yet') : (state.text ?? 'The server does not respond.');
  const live = batches.filter(isLive);
  const running =
    live.length === 0
      ? ['No batches are running']
      : [
          ...live.slice(0, MAX_BATCHES).map((row) => `${row.name}: ${batchText(row)}`),
          ...(live.length > MAX_BATCHES ? [`and ${live.length - MAX_BATCHES} more`] : []),
        ];
  return {
    text: `$(${icon}) ${current}${unstable === undefined ? '' : ' $(pulse)'}`,
    tooltip: [
      `Target ${current}: ${place}`,
      server,
      ...(unstable === undefined ? [] : [unstable]),
      ...running,
      'Click to select another target.',
    ].join('\n'),
    label:
      `Rollout target ${current}, ${state.state === 'ok' ? `${live.length} running` : 'not connected'}` +
      `${unstable === undefined ? '' : `, ${unstable.toLowerCase()}`}; ` +
      'select another target',
  };
}
