/** What the status bar says of the target, where there is a choice. Data only. */
import { LOCAL } from '../../client/targets/local.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { ServerState } from '../../protocol/page.ts';
import { batchText, isLive } from '../batches/batchText.ts';
import type { KnownTarget } from './knownTargets.ts';

export interface TargetItem {
  readonly text: string;
  readonly tooltip: string;
  /** For screen readers: no icons. */
  readonly label: string;
}

export interface TargetSeen {
  readonly targets: readonly KnownTarget[];
  /** Name of the one the window works with. */
  readonly used: string;
  readonly state: ServerState;
  /** Of its server; undefined while none was reached. */
  readonly product: string | undefined;
  readonly batches: readonly BatchRow[];
}

const SHOWN = 10;

/** undefined where there is only this machine. */
export function targetItem({ targets, used, state, product, batches }: TargetSeen): TargetItem | undefined {
  if (targets.length === 0 && used === LOCAL) return undefined;
  const target = targets.find(({ name }) => name === used);
  const icon =
    used === LOCAL ? 'vm' : target === undefined ? 'warning' : target.kind === 'url' ? 'globe' : 'server-environment';
  const place = used === LOCAL ? 'this machine' : (target?.place ?? 'not among the targets');
  const server =
    state.state === 'ok' ? (product ?? 'No server reached yet') : (state.text ?? 'The server does not answer.');
  const live = batches.filter(isLive);
  const running =
    live.length === 0
      ? ['No batch runs']
      : [
          ...live.slice(0, SHOWN).map((row) => `${row.name}: ${batchText(row)}`),
          ...(live.length > SHOWN ? [`and ${live.length - SHOWN} more`] : []),
        ];
  return {
    text: `$(${icon}) ${used}`,
    tooltip: [`Target ${used}: ${place}`, server, ...running, 'Click to select another target.'].join('\n'),
    label: `Rollout target ${used}, ${state.state === 'ok' ? `${live.length} running` : 'not connected'}; select another`,
  };
}
