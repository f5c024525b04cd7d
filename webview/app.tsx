/** The page that a place asks for. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { errorText } from '../src/common/errors.ts';
import type { PagePlace } from '../src/protocol/page.ts';
import { BatchPage } from './batch/batchPage.tsx';
import { EmptyState } from './components/notices/emptyState.tsx';
import { ComparePage } from './compare/comparePage.tsx';
import type { Host, Start } from './host/host.ts';
import { TrajectoryPage } from './trajectory/trajectoryPage.tsx';

export function App({ host }: { readonly host: Host }) {
  const [start, setStart] = useState<Start>();
  const [place, setPlace] = useState<PagePlace>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    host.start.then((begun) => {
      setStart(begun);
      setPlace(begun.place);
    }, (error: unknown) => setProblem(errorText(error)));
    const going = host.went(setPlace);
    return () => going.dispose();
  }, [host]);
  if (problem !== undefined) return <EmptyState icon="error" title="This page cannot be shown" text={problem} />;
  if (start === undefined || place === undefined) return null;
  return <Page host={host} start={start} place={place} onNavigate={setPlace} />;
}

/** A place of the same batch, rollout or task moves within the page; another one is a page of its own. */
function Page({ host, start, place, onNavigate }: { readonly host: Host; readonly start: Start; readonly place: PagePlace; readonly onNavigate: (place: PagePlace) => void }) {
  const shared = useMemo(() => ({ host, readOnly: start.readOnly, can: start.can }), [host, start]);
  if (place.page === 'compare') return <ComparePage key={`${place.batch}/${place.task}`} host={host} can={start.can} place={place} />;
  return place.page === 'batch'
    ? <BatchPage key={place.batch} {...shared} place={place} />
    : <TrajectoryPage key={place.rollout} {...shared} place={place} onNavigate={onNavigate} />;
}
