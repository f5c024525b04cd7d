/** The page of one batch: its figures, the grid of its attempts, and the details of one attempt. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { z } from 'zod';
import { nounFor } from '../../src/common/text.ts';
import { TRIMMED_HINT } from '../../src/common/trimmed.ts';
import { count } from '../../src/common/units.ts';
import type { PagePlace, PageVerb } from '../../src/protocol/page.ts';
import { announce } from '../components/notices/announcer.tsx';
import { Banner } from '../components/notices/banner.tsx';
import { Elsewhere } from '../components/notices/serverNotices.tsx';
import { KeysOverlay } from '../components/overlays/keysOverlay.tsx';
import { usePageWidth } from '../components/pageWidth.ts';
import { BatchData } from '../data/batchData.ts';
import { useChanges, useValue } from '../data/observe.ts';
import { clock } from '../format.ts';
import type { Host } from '../host/host.ts';
import { recall, remember } from '../host/memory.ts';
import { useKeys } from '../keys.ts';
import { AttemptPane, AttemptSheet } from './attempt/attemptPane.tsx';
import { type BatchActions, batchActions } from './batchActions.ts';
import { BATCH_KEYS } from './batchKeys.ts';
import './batchPage.css';
import { BatchFoot } from './batchFoot.tsx';
import { BatchView } from './batchView.ts';
import { CompareWith } from './compareWith.tsx';
import { emptyGrid } from './emptyGrid.tsx';
import { Grid } from './grid/grid.tsx';
import { GroupList } from './groups/groupList.tsx';
import { GroupPane, GroupSheet } from './groups/groupPane.tsx';
import { lacksSignal } from './groups/groupsModel.ts';
import { GroupTiles } from './groups/groupTiles.tsx';
import { BatchHead } from './head/batchHead.tsx';
import { FilterBar } from './head/filterBar.tsx';
import { seek } from './model/move.ts';
import { outcomeAt } from './model/taskFacts.ts';
import { Panels } from './panels/panels.tsx';

interface BatchPageProps {
  readonly host: Host;
  readonly readOnly: boolean;
  readonly can: ReadonlySet<PageVerb>;
  readonly place: Extract<PagePlace, { page: 'batch' }>;
}

export function BatchPage({ host, readOnly, can, place }: BatchPageProps) {
  const view = useMemo(() => new BatchView(new BatchData(host, place.batch)), [host, place.batch]);
  const actions = useMemo(() => batchActions(host, view, { readOnly, can }), [host, view, readOnly, can]);
  useEffect(() => () => view.close(), [view]);
  useEffect(() => view.setFilter(place.filter ?? ''), [view, place]);
  useChanges(view.changed);
  const page = usePageWidth();
  const [pane, setPane] = useState(() => recall('batch.pane', z.boolean()) ?? true);
  const [keys, setKeys] = useState(false);
  const [choosing, setChoosing] = useState(false);
  const input = useRef<HTMLElement | null>(null);
  const focusGrid = useGridFocus(keys || choosing);
  const togglePane = (): void => {
    remember('batch.pane', !pane);
    setPane(!pane);
  };
  const { data } = view;
  const lost = useLost(host, data);
  useTelling(host, view);
  useKeys(
    pageKeys(view, actions, {
      togglePane,
      focusGrid,
      search: () => input.current?.focus(),
      showKeys: () => setKeys(true),
      compareWith: () => setChoosing(true),
    }),
    !keys && !choosing,
  );

  const trimmed = actions.trimmed();
  const wide = page >= 1180;
  const empty = emptyGrid(view, lost !== undefined);
  const grouped = view.groups.shown;
  const shown = { view, actions };
  return (
    <main
      class="batch-page"
      aria-label={data.row === undefined ? 'Batch' : `Batch ${data.row.name}`}
      aria-busy={data.loading === 'loading'}
    >
      <BatchHead view={view} actions={actions} page={page} onCompare={() => setChoosing(true)} />
      {lost !== undefined && <Banner kind="error" text={lost} />}
      {trimmed !== undefined && <Banner kind="info" text={`${trimmed} ${TRIMMED_HINT}`} />}
      <Elsewhere host={host} />
      {grouped ? (
        <GroupTiles view={view} delivered={data.row?.delivered} />
      ) : (
        <Panels view={view} page={page} onOpen={(cell) => actions.open(cell, false)} />
      )}
      <FilterBar
        view={view}
        page={page}
        pane={wide ? pane : undefined}
        onPane={togglePane}
        inputRef={input}
        onLeave={focusGrid}
      />
      <div class="batch-body">
        {empty ??
          (grouped ? (
            <GroupList view={view} page={page} stale={lost !== undefined} actions={actions} />
          ) : (
            <Grid
              view={view}
              page={page}
              card={page > 640 && !(wide && pane)}
              stale={lost !== undefined}
              actions={actions}
            />
          ))}
        {wide && pane && (grouped ? <GroupPane {...shown} /> : <AttemptPane {...shown} />)}
      </div>
      {grouped && !(wide && pane) && <GroupSheet {...shown} />}
      {!grouped && page <= 640 && <AttemptSheet {...shown} />}
      <BatchFoot
        view={view}
        lost={lost !== undefined}
        page={page}
        onKeys={() => setKeys(true)}
        onPods={actions.can.has('pods') ? actions.pods : undefined}
      />
      {choosing && <CompareWith view={view} actions={actions} onClose={() => setChoosing(false)} />}
      {keys && <KeysOverlay groups={BATCH_KEYS} onClose={() => setKeys(false)} />}
    </main>
  );
}

interface PageDoes {
  readonly focusGrid: () => void;
  readonly togglePane: () => void;
  readonly search: () => void;
  readonly showKeys: () => void;
  readonly compareWith: () => void;
}

function pageKeys(
  view: BatchView,
  actions: BatchActions,
  { togglePane, focusGrid, search, showKeys, compareWith }: PageDoes,
): Record<string, () => void> {
  const { groups } = view;
  const next = (direction: 1 | -1) => (): void => {
    view.keyed();
    const here = view.cursor?.on === 'cell' ? view.cursor.index : undefined;
    const found = seek(view.rows, view.cursor, view.width, direction, (index, attempt) => {
      if (groups.shown) return index !== here && groups.shows(index) && lacksSignal(groups.of(index).signal);
      const row = view.row(index, attempt);
      return view.shows(row) && ['failed', 'truncated', 'infrastructure'].includes(outcomeAt(row));
    });
    if (found !== undefined) view.moveTo(found);
    focusGrid(); // the next key is for the attempt, not for the button that was used before
  };
  const copy = (): void => {
    if (view.shown !== undefined) actions.copyLink(view.shown);
  };
  const compare = (): void => {
    if (view.shown !== undefined) actions.compare(view.shown);
  };
  const fork = (): void => {
    if (view.shown !== undefined) actions.fork(view.shown);
  };
  return {
    ...(view.width > 1 ? { v: () => groups.show(!groups.shown) } : {}),
    i: togglePane,
    '/': search,
    'mod+f': search,
    '?': showKeys,
    n: next(1),
    'shift+n': next(-1),
    c: compare,
    f: fork,
    'shift+c': compareWith,
    y: copy,
  };
}

/** What has the rows of the page: its keys are in the status line. */
const ROWS = '.batch-grid-scroller, .batch-groups .virtual-list';

/**
 * Keeps the focus on the grid, whose keys the status line names: once there are rows, when the window gets the focus,
 * and after a dialog, as long as nothing else has it. Returns a function that moves it there.
 */
function useGridFocus(dialog: boolean): () => void {
  const focus = useCallback(() => document.querySelector<HTMLElement>(ROWS)?.focus(), []);
  useEffect(() => {
    if (dialog) return undefined;
    const unless = (): void => {
      const { activeElement } = document;
      if (!document.hasFocus()) return; // never take it from an editor
      if (activeElement === null || activeElement === document.body) focus();
    };
    unless();
    window.addEventListener('focus', unless);
    return () => window.removeEventListener('focus', unless);
  });
  return focus;
}

/** Returns the banner text while the server does not respond. Loaded data stays on screen. */
function useLost(host: Host, data: BatchData): string | undefined {
  const server = useValue(host.server);
  const since = useRef<number | undefined>(undefined);
  const away = server.state !== 'ok' || data.lost;
  if (!away) since.current = undefined;
  else since.current ??= Date.now();
  if (!away) return undefined;
  const text =
    server.text ??
    (server.state === 'stopped' ? 'The rollout server is stopped.' : 'The rollout server is not responding.');
  return `${text} Last update at ${clock(since.current ?? Date.now())}. Updates resume when it is back.`;
}

/** Reports the page's place to the host, and the batch's progress to screen readers. */
function useTelling(host: Host, view: BatchView): void {
  const { data, counts, filter } = view;
  const name = data.row?.name;
  useEffect(() => {
    if (name !== undefined)
      host.setPlace({ page: 'batch', batch: data.batch, ...(filter === '' ? {} : { filter }) }, name);
  }, [host, data, name, filter]);
  const announced = useRef<number | undefined>(undefined);
  const { done } = view;
  useEffect(() => {
    if (data.loading === 'loading') return;
    if (announced.current !== undefined && announced.current !== done)
      announce(
        `${count(done)} of ${count(view.attempts)} ${nounFor(view.attempts, 'attempt')} ` +
          `done, ${count(counts.passed)} passed, ` +
          `${count(counts.failed)} failed`,
      );
    announced.current = done;
  }, [done, data.loading]);
}
