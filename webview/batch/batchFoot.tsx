/** The status line: connection state, incidents, infrastructure events, and the main keys. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { plural } from '../../src/common/text.ts';
import { count } from '../../src/common/units.ts';
import type { Incident } from '../../src/trace/incidents/incident.ts';
import { groupLine, type InfraGroup, InfraGroups } from '../../src/trace/infraGroups.ts';
import { Icon } from '../components/marks/icon.tsx';
import { useNow } from '../components/useNow.ts';
import { ago, clock } from '../format.ts';
import type { BatchView } from './batchView.ts';

const MAX_NEWS = 12;
const HOUR_MS = 3_600_000;

function endedText(at: number | undefined, now: number): string {
  return at === undefined ? 'ended' : `ended ${ago(at, now)}`;
}

export function BatchFoot({
  view,
  lost,
  page,
  onKeys,
  onPods,
}: {
  readonly view: BatchView;
  readonly lost: boolean;
  readonly page: number;
  readonly onKeys: () => void;
  /** Lists the workers; undefined where that is not possible. */
  readonly onPods: (() => void) | undefined;
}) {
  const { row, server, ended, loading } = view.data;
  const now = useNow(ended && row?.ended_at !== undefined && Date.now() - row.ended_at < HOUR_MS);
  const state = lost
    ? 'Not connected'
    : loading === 'loading'
      ? 'reading'
      : ended
        ? endedText(row?.ended_at, now)
        : row?.state === 'paused'
          ? 'paused'
          : 'live';
  const incidents = view.figures?.report.incidents ?? [];
  const short = page <= 760;
  const alive = server?.workers.filter((worker) => worker.alive) ?? [];
  return (
    <footer class="batch-foot">
      <span class={`batch-live ${state === 'live' ? 'on' : ''}`}>
        <i aria-hidden="true" />
        {state}
      </span>
      {page > 640 && !ended && alive.length > 0 && (
        <Workers
          text={`${plural(alive.length, 'worker')} · ${plural(
            alive.reduce((sum, { slots }) => sum + slots, 0),
            'slot',
          )}`}
          onPods={onPods}
        />
      )}
      <Incidents incidents={incidents} short={short} />
      {page > 640 && <InfraNews view={view} />}
      <span class="batch-grow" />
      {page > 640 && (
        <>
          <Key keys={['←', '↑', '↓', '→']}>move</Key>
          <Key keys={['↵']}>open</Key>
          <Key keys={['N']}>
            {view.groups.shown && !short ? 'next without signal' : view.groups.shown ? 'no signal' : 'next not passed'}
          </Key>
          {view.groups.shown && page > 900 && <Key keys={['V']}>attempts</Key>}
          {(!short || incidents.length === 0) && <Key keys={['/']}>filter</Key>}
        </>
      )}
      <button type="button" onClick={onKeys}>
        <kbd>?</kbd> keys
      </button>
    </footer>
  );
}

/** How many workers the server has. A click lists those of the batch. */
function Workers({ text, onPods }: { readonly text: string; readonly onPods: (() => void) | undefined }) {
  if (onPods === undefined) return <span>{text}</span>;
  return (
    <button
      type="button"
      class="batch-workers"
      title="Show the pods of this batch, with logs and events"
      onClick={onPods}
    >
      <Icon name="server-process" /> {text}
    </button>
  );
}

const INCIDENTS = 'batch-incidents';

/** A button for what happened outside of the agents, one line each. Nothing if nothing happened. */
function Incidents({ incidents, short }: { readonly incidents: readonly Incident[]; readonly short: boolean }) {
  if (incidents.length === 0) return null;
  const label = plural(incidents.length, 'incident');
  return (
    <>
      <button
        type="button"
        class="batch-incidents-button"
        popovertarget={INCIDENTS}
        aria-label={label}
        title={incidents.map(({ text }) => text).join('\n')}
      >
        <Icon name="warning" /> {short ? count(incidents.length) : label}
      </button>
      <div id={INCIDENTS} class="batch-incidents" popover="auto" role="group" aria-label="Incidents">
        <h2>Incidents</h2>
        <ul>
          {incidents.map(({ text }) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </div>
    </>
  );
}

/** Shows the latest infrastructure event, and all of them in a hover. */
function InfraNews({ view: { data, attempts } }: { readonly view: BatchView }) {
  const groups = useMemo(() => {
    const infra = new InfraGroups();
    for (const event of data.events) if (event.kind === 'infra') infra.add(event);
    return infra.all;
  }, [data.events.length]);
  const last = groups.at(-1);
  if (last === undefined) return null;
  const line = (group: InfraGroup): string =>
    groupLine(group, group.all, data.definition?.podEach === true ? attempts : undefined);
  return (
    <span
      class="batch-infra"
      title={groups
        .slice(-MAX_NEWS)
        .map((group) => `${clock(group.at)} ${line(group)}`)
        .join('\n')}
    >
      {line(last)}
    </span>
  );
}

function Key({ keys, children }: { readonly keys: readonly string[]; readonly children: ComponentChildren }) {
  return (
    <span class="batch-key">
      {keys.map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}{' '}
      {children}
    </span>
  );
}
