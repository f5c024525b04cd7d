/** The page of one trajectory: head, verdict, time axis, steps, and details of the selection. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { errorText } from '../../src/common/errors.ts';
import { count } from '../../src/common/units.ts';
import type { PagePlace, PageVerb } from '../../src/protocol/page.ts';
import { DeferredRender } from '../components/deferredRender.tsx';
import { announce } from '../components/notices/announcer.tsx';
import { Banner } from '../components/notices/banner.tsx';
import { EmptyState } from '../components/notices/emptyState.tsx';
import { ServerNotices } from '../components/notices/serverNotices.tsx';
import { Skeleton } from '../components/notices/skeleton.tsx';
import { KeysOverlay } from '../components/overlays/keysOverlay.tsx';
import { Splitter } from '../components/splitter.tsx';
import { useChanges, useValue } from '../data/observe.ts';
import type { Host } from '../host/host.ts';
import { useKeys } from '../keys.ts';
import { neighbour } from './attempts.ts';
import { type AxisControl, TimeAxis } from './axis/timeAxis.tsx';
import { Detail } from './detail/detail.tsx';
import { BreakpointBox } from './detail/edit/breakpointBox.tsx';
import { EditForm } from './detail/edit/editForm.tsx';
import { HeldBanner } from './head/heldBanner.tsx';
import { ScorerVerdicts } from './head/scorerVerdicts.tsx';
import { TrajectoryHead } from './head/trajectoryHead.tsx';
import { Verdict } from './head/verdict.tsx';
import { TRAJECTORY_KEYS, trajectoryBindings } from './keys.ts';
import { NoteBox } from './noteBox.tsx';
import { referenceOf } from './reference.ts';
import { SearchBox } from './search/searchBox.tsx';
import { TrajectorySession } from './session.ts';
import { StepList } from './steps/stepList.tsx';
import { TranscriptPage } from './transcript/transcriptPage.tsx';
import { TrimmedTrajectory } from './trimmedTrajectory.tsx';
import { SCORE_TABS, TABS } from './view.ts';
import './page.css';

interface TrajectoryPageProps {
  readonly host: Host;
  readonly readOnly: boolean;
  readonly can: ReadonlySet<PageVerb>;
  readonly place: Extract<PagePlace, { page: 'trajectory' }>;
  /** Shows another trajectory in this page. */
  readonly onNavigate: (place: PagePlace) => void;
}

/** Narrower pages show the details below the list. */
const NARROW = 900;

export function TrajectoryPage({ host, readOnly, can, place, onNavigate }: TrajectoryPageProps) {
  const session = useMemo(() => new TrajectorySession(host, readOnly, can, place), [host]);
  useEffect(() => () => session.close(), [session]);
  useEffect(() => session.visit(place), [session, place]);
  useChanges(session.changed);
  useChanges(session.data.changed);
  useChanges(session.debug.changed);
  useChanges(session.debug.breakpoints.changed);
  const server = useValue(host.server);
  const [keys, setKeys] = useState(false);
  const [note, setNote] = useState(false);
  const axis = useRef<AxisControl>(null);
  const copyMenu = useRef<() => void>(null);
  const field = useRef<HTMLElement>(null);
  const { width, measure } = useWidth();
  useAnnouncements(session);

  const attempt = (distance: 1 | -1): void => {
    neighbour(session.data, distance).then(
      (rollout) => {
        if (rollout === undefined)
          session.say(distance === 1 ? 'This is the last attempt.' : 'This is the first attempt.');
        else onNavigate({ page: 'trajectory', rollout, ...session.tabPlace });
      },
      (error: unknown) => session.say(errorText(error)),
    );
  };
  const bookmark = (): void => {
    const { data, seq } = session;
    if (readOnly || seq === 0) return;
    data
      .note('bookmark', seq, data.notes.isBookmarked(data.rollout, seq) ? '' : referenceOf(session))
      .catch((error: unknown) => session.say(errorText(error)));
  };
  const page = {
    attempt,
    search: () => (session.reading ? session.transcript.openFind() : field.current?.focus()),
    keys: () => setKeys(true),
    bookmark,
    note: () => {
      if (!readOnly && data.trimmed === undefined) setNote(true);
    },
    copy: () => copyMenu.current?.(),
    axis,
  };
  useKeys(trajectoryBindings(session, page), !keys);

  const { data } = session;
  if (data.loading === 'failed' && data.model.last === 0) {
    return (
      <main class="trajectory-page">
        <h1 class="only-read">Trajectory</h1>
        <EmptyState icon="error" title="Cannot show this trajectory" text={data.problem ?? ''} />
      </main>
    );
  }
  // While events are loading, a hold may have a later release.
  const hold = data.loading === 'loading' ? undefined : data.model.holdsAt().at(-1);
  const list = (
    <div class="steps-part">
      <SearchBox session={session} inputRef={field} />
      <div class="steps-list">
        {session.shown.length > 0 ? <StepList session={session} /> : <NoRows session={session} />}
      </div>
    </div>
  );
  const { draft, boxOpen } = session.debug;
  const boxes = (
    <>
      {boxOpen && <BreakpointBox session={session} />}
      {draft !== undefined && draft.target.seq === undefined && <EditForm view={session} draft={draft} />}
      <NoteBox session={session} open={note} onClose={() => setNote(false)} />
    </>
  );
  const detail = (
    <div class="detail-part">
      {boxes}
      <DeferredRender>
        <Detail view={session} />
      </DeferredRender>
    </div>
  );
  return (
    <main class="trajectory-page" ref={measure}>
      <ServerNotices host={host} />
      {server.state === 'ok' && data.lost && (
        <Banner kind="warning" text="Connection lost. Reconnecting… Data may be out of date." />
      )}
      {data.loading === 'failed' && <Banner kind="error" text={data.problem ?? ''} />}
      <TrajectoryHead
        session={session}
        can={can}
        onAttempt={attempt}
        onSearch={page.search}
        onKeys={page.keys}
        onBookmark={bookmark}
        onNote={page.note}
        copyMenu={copyMenu}
      />
      {hold !== undefined && <HeldBanner session={session} hold={hold} />}
      <Verdict session={session} />
      <ScorerVerdicts session={session} />
      {data.trimmed === undefined && <TimeAxis session={session} control={axis} />}
      <div class="trajectory-body">
        {data.trimmed !== undefined ? (
          <TrimmedTrajectory view={session} trimmed={data.trimmed} />
        ) : session.reading ? (
          <div class="transcript-part">
            {boxes}
            <TranscriptPage session={session} />
          </div>
        ) : width < NARROW ? (
          <Splitter
            key="column"
            direction="column"
            name="trajectory.narrow"
            initial={240}
            min={88}
            maxShare={0.55}
            first={list}
            second={detail}
          />
        ) : (
          <Splitter
            key="row"
            direction="row"
            name="trajectory"
            initial={480}
            min={320}
            minSecond={420}
            maxShare={0.6}
            first={list}
            second={detail}
          />
        )}
      </div>
      <footer class="page-foot">
        <span>{footText(session)}</span>
        <span class="foot-reference mono">{referenceOf(session)}</span>
        <span class="grow" />
        {data.trimmed === undefined && <FootKeys session={session} />}
      </footer>
      {keys && <KeysOverlay groups={TRAJECTORY_KEYS} onClose={() => setKeys(false)} />}
    </main>
  );
}

function FootKeys({ session }: { readonly session: TrajectorySession }) {
  const tabs = session.data.model.event(session.seq)?.kind === 'score' ? SCORE_TABS : TABS;
  const hints: readonly (readonly [keys: readonly string[], does: string])[] = [
    [['J', 'K'], session.reading ? 'message' : 'row'],
    ...(session.reading
      ? ([
          [['X'], 'expand'],
          [['/'], 'find'],
        ] as const)
      : []),
    [['E'], 'next error'],
    [['D'], 'divergence'],
    ...(session.debug.breakpoints.settable && !session.reading ? ([[['B'], 'breakpoint']] as const) : []),
    ...(session.reading ? [] : ([[['1', '…', String(tabs.length)], 'tabs']] as const)),
    [['V'], session.reading ? 'steps' : 'transcript'],
    [['?'], 'keys'],
  ];
  return (
    <>
      {hints.map(([keys, does]) => (
        <span key={does} class="foot-keys">
          {keys.map((key) => (key === '…' ? '…' : <kbd key={key}>{key}</kbd>))} {does}
        </span>
      ))}
    </>
  );
}

function NoRows({ session }: { readonly session: TrajectorySession }) {
  if (session.only.size > 0 && session.rows.all.length > 0)
    return (
      <EmptyState
        icon="filter"
        title="No matching rows"
        text="The filter hides all rows of this trajectory."
        actions={[{ label: 'Show all', onClick: () => session.filter(new Set()) }]}
      />
    );
  if (session.data.loading === 'loading') return <Skeleton />;
  return (
    <EmptyState
      icon="watch"
      title="No steps yet"
      text="The rollout is waiting for a worker. Its steps will appear here."
    />
  );
}

function footText(session: TrajectorySession): string {
  const { data } = session;
  if (session.waitingFor !== undefined)
    return `Loading event ${count(session.waitingFor)}: ${count(data.whole.last)} of ${count(data.last)}`;
  if (data.trimmed !== undefined) return 'Trimmed';
  if (data.loading === 'loading') return `${count(data.whole.last)} of ${count(data.last)} events loaded`;
  if (!data.ended) return session.following ? 'Live, following' : 'Live';
  return data.info?.row.state === 'ended' && data.batch?.imported === true ? 'Imported' : 'Recorded';
}

/** Width of the page, for layouts that CSS alone cannot choose. */
function useWidth(): { readonly width: number; readonly measure: { current: HTMLElement | null } } {
  const measure = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(window.innerWidth);
  useLayoutEffect(() => {
    const element = measure.current;
    if (element === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? window.innerWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { width, measure };
}

/** Announces the progress of a running rollout to screen readers. */
function useAnnouncements({ data }: TrajectorySession): void {
  const steps = data.model.steps.length - 1;
  const end = data.model.end?.data;
  useEffect(() => {
    if (data.loading !== 'head' || steps === 0) return;
    announce(
      end === undefined
        ? `step ${steps}`
        : `ended: ${end.passed === true ? 'passed' : end.passed === false ? 'failed' : end.status}`,
    );
  }, [steps, end !== undefined]);
}
