/** Compares two batches with the same tasks: whether the later one is better, and which tasks changed. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { nounFor } from '../../../src/common/text.ts';
import { count } from '../../../src/common/units.ts';
import type { PageAction, PagePlace, PageVerb } from '../../../src/protocol/page.ts';
import type { ComparedBatches, TaskChange } from '../../../src/trace/align/batches.ts';
import { Button } from '../../components/controls.tsx';
import { ActionLink } from '../../components/link.tsx';
import { actAndSay } from '../../components/notices/actAndSay.ts';
import { Banner } from '../../components/notices/banner.tsx';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { ServerNotices } from '../../components/notices/serverNotices.tsx';
import { Skeleton } from '../../components/notices/skeleton.tsx';
import { type KeyGroup, KeysOverlay } from '../../components/overlays/keysOverlay.tsx';
import { ShareButtons } from '../../components/shareButtons.tsx';
import { useChanges } from '../../data/observe.ts';
import type { Host } from '../../host/host.ts';
import { useKeys } from '../../keys.ts';
import { BatchesData } from './batchesData.ts';
import { Differences } from './differences.tsx';
import { Pairs } from './pairs.tsx';
import { CHANGES, TaskRows } from './taskRows.tsx';
import '../comparePage.css';
import './batchesPage.css';

const KEYS: readonly KeyGroup[] = [
  {
    title: 'Move',
    keys: [
      { keys: 'J / K', does: 'next, previous task' },
      { keys: 'Home / End', does: 'first, last task' },
      { keys: '1 … 6', does: 'filter by kind, or show all' },
    ],
  },
  {
    title: 'Task',
    keys: [
      { keys: 'Enter', does: 'all attempts in both batches, side by side' },
      { keys: 'Ctrl+Enter', does: 'open to the side' },
      { keys: 'Y', does: 'copy the reference' },
    ],
  },
  {
    title: 'Page',
    keys: [
      { keys: 'X', does: 'swap the batches' },
      { keys: 'O / Shift+O', does: 'open the earlier, the later batch' },
      { keys: '?', does: 'show keys' },
    ],
  },
];

interface BatchesPageProps {
  readonly host: Host;
  readonly can: ReadonlySet<PageVerb>;
  readonly place: Extract<PagePlace, { page: 'batches' }>;
  /** Shows another place in this page. */
  readonly onNavigate: (place: PagePlace) => void;
}

export function BatchesPage({ host, can, place, onNavigate }: BatchesPageProps) {
  const { batch, with: other } = place;
  const [reading, setReading] = useState(1);
  const data = useMemo(() => new BatchesData(host, batch, other), [host, batch, other, reading]);
  useEffect(() => () => data.close(), [data]);
  useChanges(data.changed);
  const [before, after] = [data.before?.name ?? batch, data.after?.name ?? other];
  useEffect(
    () => host.setPlace({ page: 'batches', batch, with: other }, `${before} and ${after}`),
    [host, batch, other, before, after],
  );
  const reload = (): void => setReading(reading + 1);
  const act = (action: PageAction): void => actAndSay(host, action);
  const swap = (): void => onNavigate({ page: 'batches', batch: other, with: batch });
  return (
    <main class="compare-page">
      <ServerNotices host={host} />
      <header class="page-head compare-title">
        <h1 title={`${before} (${batch}) and ${after} (${other})`}>
          {before} → {after}
        </h1>
        <span class="grow" />
        <div class="compare-actions">
          {can.has('open') && (
            <>
              <ActionLink
                label="before"
                title={`Open ${before} (O)`}
                onClick={() => act({ do: 'open', place: { page: 'batch', batch } })}
              />
              <ActionLink
                label="after"
                title={`Open ${after} (Shift+O)`}
                onClick={() => act({ do: 'open', place: { page: 'batch', batch: other } })}
              />
            </>
          )}
          <Button kind="icon" icon="arrow-swap" label="Swap batches" title="Swap batches (X)" onClick={swap} />
          <Button kind="icon" icon="refresh" label="Reload" onClick={reload} />
          <ShareButtons can={can} place={place} act={act} />
        </div>
      </header>
      {data.compared !== undefined && data.open > 0 && (
        <Banner
          kind="info"
          text={
            `${count(data.open)} ${data.open === 1 ? 'attempt has' : 'attempts have'} not ended. ` +
            'Reload to see the results.'
          }
          actions={[{ label: 'Reload', onClick: reload }]}
        />
      )}
      {data.loading === 'failed' ? (
        <EmptyState
          icon="error"
          title="Cannot compare these batches"
          text={data.problem ?? ''}
          actions={[{ label: 'Try again', onClick: reload }]}
        />
      ) : data.compared === undefined ? (
        <>
          <p class="compare-reading" role="status">
            {data.read === 0 ? 'Loading batches…' : `${count(data.read)} ${nounFor(data.read, 'attempt')} loaded`}
          </p>
          <Skeleton />
        </>
      ) : (
        <Compared key={`${batch} ${other} ${reading}`} compared={data.compared} place={place} act={act} onSwap={swap} />
      )}
    </main>
  );
}

interface ComparedProps {
  readonly compared: ComparedBatches;
  readonly place: BatchesPageProps['place'];
  readonly act: (action: PageAction) => void;
  readonly onSwap: () => void;
}

function Compared({ compared: { comparison, tasks }, place, act, onSwap }: ComparedProps) {
  const [only, setOnly] = useState<TaskChange>();
  const [selected, setSelected] = useState(0);
  const [keys, setKeys] = useState(false);
  const counts = useMemo(
    () =>
      new Map(
        Object.keys(CHANGES).map((change) => [
          change as TaskChange,
          tasks.filter((task) => task.change === change).length,
        ]),
      ),
    [tasks],
  );
  const shown = useMemo(
    () => (only === undefined ? tasks : tasks.filter((task) => task.change === only)),
    [tasks, only],
  );
  const go = (index: number): void => setSelected(Math.max(0, Math.min(shown.length - 1, index)));
  const choose = (change: TaskChange): void => {
    setOnly(change === only ? undefined : change);
    setSelected(0);
  };
  const open = (index: number, beside = false): void => {
    const task = shown[index]?.task;
    if (task !== undefined)
      act({
        do: 'open',
        place: { page: 'compare', batch: place.batch, task, with: place.with },
        ...(beside ? { beside } : {}),
      });
  };
  const batch = (which: string) => (): void => act({ do: 'open', place: { page: 'batch', batch: which } });
  useKeys(
    {
      ...Object.fromEntries(
        (Object.keys(CHANGES) as TaskChange[]).map((change, index) => [
          String(index + 1),
          () => {
            if ((counts.get(change) ?? 0) > 0) choose(change);
          },
        ]),
      ),
      j: () => go(selected + 1),
      k: () => go(selected - 1),
      ArrowDown: () => go(selected + 1),
      ArrowUp: () => go(selected - 1),
      Home: () => go(0),
      End: () => go(shown.length - 1),
      Enter: () => open(selected),
      'mod+Enter': () => open(selected, true),
      x: onSwap,
      o: batch(place.batch),
      'shift+o': batch(place.with),
      '?': () => setKeys(true),
      y: () => {
        const task = shown[selected]?.task;
        if (task !== undefined) act({ do: 'copy', text: `${place.with}/${task}` });
      },
    },
    !keys,
  );
  if (tasks.length === 0)
    return <EmptyState icon="info" title="No tasks in common" text="The batches have no task IDs in common." />;
  return (
    <>
      <Differences comparison={comparison} />
      <Pairs comparison={comparison} />
      <div class="batches-filter" role="group" aria-label="Only">
        {(Object.keys(CHANGES) as TaskChange[]).map((change) => {
          const number = counts.get(change) ?? 0;
          return number === 0 ? null : (
            <button
              key={change}
              type="button"
              class={`batches-chip is-${change}`}
              aria-pressed={change === only}
              onClick={() => choose(change)}
            >
              <span aria-hidden="true">{CHANGES[change][0]}</span> <b>{count(number)}</b> {CHANGES[change][1]}
            </button>
          );
        })}
        <OneSided ids={comparison.only_in_baseline} side="before" />
        <OneSided ids={comparison.only_here} side="after" />
      </div>
      <div class="batches-list">
        <TaskRows tasks={shown} selected={selected} onSelect={go} onOpen={open} />
      </div>
      <footer class="compare-foot">
        <span>
          {count(shown.length)} of {count(tasks.length)} {nounFor(tasks.length, 'task')} in both
        </span>
        <span class="compare-keys">
          <kbd>J</kbd>
          <kbd>K</kbd> task
        </span>
        <span class="compare-keys">
          <kbd>↵</kbd> attempts in both
        </span>
        <span class="compare-keys">
          <kbd>X</kbd> swap
        </span>
        <button type="button" onClick={() => setKeys(true)}>
          <kbd>?</kbd> keys
        </button>
      </footer>
      {keys && <KeysOverlay groups={KEYS} onClose={() => setKeys(false)} />}
    </>
  );
}

/** Lists tasks that only one of the batches has. */
function OneSided({ ids, side }: { readonly ids: readonly string[]; readonly side: string }) {
  return ids.length === 0 ? null : (
    <span class="dim" title={ids.slice(0, 50).join('\n')}>
      {count(ids.length)} only {side}
    </span>
  );
}
