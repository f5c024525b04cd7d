/** Builds the status bar text for batches. */

import { plural } from '../../common/text.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { ServerState } from '../../protocol/page.ts';
import { batchProgress, batchText, heldSuffix, isLive, withoutDebugRuns } from './batchText.ts';

interface StatusText {
  readonly text: string;
  readonly tooltip: string;
  /** Label for screen readers, without icons. */
  readonly label: string;
  readonly warning: boolean;
  /** What a click does: opens this batch, lets the user pick one, or starts the server. */
  readonly click:
    | { readonly do: 'open'; readonly batch: string }
    | { readonly do: 'choose' }
    | { readonly do: 'start' };
}

/** Returns undefined if there is nothing to show. With `always`, returns a text even if there are no batches. */
export function statusText(rows: readonly BatchRow[], server: ServerState, always = false): StatusText | undefined {
  if (server.state === 'stopped') {
    const text = server.text ?? 'The rollout server is not running.';
    return {
      text: '$(warning) Rollout stopped',
      label: 'Rollout: server stopped',
      tooltip: `${text} Click to start it.`,
      warning: true,
      click: { do: 'start' },
    };
  }
  if (server.state === 'lost')
    return {
      text: '$(sync~spin) Rollout',
      label: 'Rollout: connecting to the server',
      tooltip: server.text ?? 'Connecting to the server…',
      warning: false,
      click: { do: 'choose' },
    };
  const measured = withoutDebugRuns(rows);
  const live = measured.filter(isLive);
  const paused = measured.filter((row) => row.state === 'paused');
  const [newest] = live;
  if (newest !== undefined) {
    const sums = live.map(batchProgress);
    const done = sums.reduce((sum, each) => sum + each.done, 0);
    const all = sums.reduce((sum, each) => sum + each.all, 0);
    const held = heldSuffix(live.reduce((sum, { counts }) => sum + counts.held, 0));
    return {
      text: `$(beaker) Rollout ${live.length} running ${done}/${all}${held}`,
      label: `Rollout: ${plural(live.length, 'batch', 'batches')} running, ${done} of ${all} attempts settled${held}`,
      tooltip: lines([...live, ...paused]),
      warning: false,
      click: { do: 'open', batch: newest.batch },
    };
  }
  if (paused[0] !== undefined)
    return {
      text: `$(beaker) Rollout ${paused.length} paused`,
      label: `Rollout: ${paused.length} paused`,
      tooltip: lines(paused),
      warning: false,
      click: { do: 'open', batch: paused[0].batch },
    };
  const debugRuns = rows.filter((row) => row.debug === true && row.state !== 'ended');
  if (debugRuns[0] !== undefined) {
    const held = heldSuffix(debugRuns.reduce((sum, { counts }) => sum + counts.held, 0));
    const text = `${plural(debugRuns.length, 'debug run')}${held}`;
    return {
      text: `$(debug-alt) Rollout ${text}`,
      label: `Rollout: ${text}`,
      tooltip: lines(debugRuns),
      warning: false,
      click: { do: 'open', batch: debugRuns[0].batch },
    };
  }
  if (rows.length === 0 && !always) return undefined;
  return {
    text: '$(beaker) Rollout',
    label: 'Rollout: nothing is running',
    tooltip: 'Nothing is running. Click to open a batch.',
    warning: false,
    click: { do: 'choose' },
  };
}

function lines(rows: readonly BatchRow[]): string {
  return rows
    .slice(0, 10)
    .map((row) => `${row.name}: ${batchText(row)}`)
    .join('\n');
}
