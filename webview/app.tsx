/** Shows the page of a place. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { errorText } from '../src/common/errors.ts';
import type { PagePlace } from '../src/protocol/page.ts';
import { BatchPage } from './batch/batchPage.tsx';
import { BatchesPage } from './compare/batches/batchesPage.tsx';
import { ComparePage } from './compare/comparePage.tsx';
import { EmptyState } from './components/notices/emptyState.tsx';
import { FidelityPage } from './fidelity/fidelityPage.tsx';
import type { Host, Start } from './host/host.ts';
import { TrajectoryPage } from './trajectory/trajectoryPage.tsx';

/** The result of starting a page. */
type StartResult = { readonly start: Start } | { readonly problem: string };

export function begin(host: Host): Promise<StartResult> {
  return host.start.then(
    (start) => ({ start }),
    (error: unknown) => ({ problem: errorText(error) }),
  );
}

interface AppProps {
  readonly host: Host;
  /** If absent, nothing is shown until it has started. */
  readonly result?: StartResult;
  /** Where it has navigated since the start. */
  readonly navigated?: PagePlace | undefined;
}

export function App({ host, result, navigated }: AppProps) {
  const [started, setStarted] = useState(result);
  const [place, setPlace] = useState(navigated);
  useEffect(() => {
    if (started === undefined) void begin(host).then(setStarted);
    const subscription = host.onNavigate(setPlace);
    return () => subscription.dispose();
  }, [host]);
  if (started === undefined) return null;
  if ('problem' in started) return <EmptyState icon="error" title="This page cannot be shown" text={started.problem} />;
  return <Page host={host} start={started.start} place={place ?? started.start.place} onNavigate={setPlace} />;
}

/** Navigates within the page for the same batch, rollout, or task; otherwise shows a new page. */
function Page({
  host,
  start,
  place,
  onNavigate,
}: {
  readonly host: Host;
  readonly start: Start;
  readonly place: PagePlace;
  readonly onNavigate: (place: PagePlace) => void;
}) {
  const shared = useMemo(() => ({ host, readOnly: start.readOnly, can: start.can }), [host, start]);
  if (place.page === 'compare')
    return (
      <ComparePage key={`${place.batch}/${place.with ?? ''}/${place.task}`} host={host} can={start.can} place={place} />
    );
  if (place.page === 'batches')
    return (
      <BatchesPage
        key={`${place.batch}/${place.with}`}
        host={host}
        can={start.can}
        place={place}
        onNavigate={onNavigate}
      />
    );
  if (place.page === 'fidelity') return <FidelityPage key={place.batch} host={host} can={start.can} place={place} />;
  return place.page === 'batch' ? (
    <BatchPage key={place.batch} {...shared} place={place} />
  ) : (
    <TrajectoryPage key={place.rollout} {...shared} place={place} onNavigate={onNavigate} />
  );
}
