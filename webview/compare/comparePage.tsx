/** Compares the attempts of a task: two of them side by side, or all of them as columns next to a tree. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { PageAction, PagePlace, PageVerb } from '../../src/protocol/page.ts';
import { actAndSay } from '../components/notices/actAndSay.ts';
import { Banner } from '../components/notices/banner.tsx';
import { EmptyState } from '../components/notices/emptyState.tsx';
import { ServerNotices } from '../components/notices/serverNotices.tsx';
import { Skeleton } from '../components/notices/skeleton.tsx';
import { useChanges } from '../data/observe.ts';
import type { Host } from '../host/host.ts';
import { CompareData, type ComparedAttempts } from './compareData.ts';
import { CompareHead } from './compareHead.tsx';
import { Comparison } from './comparison.tsx';
import { leftOf } from './two/nearest.ts';
import { TwoView } from './two/twoView.tsx';
import './comparePage.css';

export type ComparePlace = Extract<PagePlace, { page: 'compare' }>;
type View = 'two' | 'all';

interface ComparePageProps {
  readonly host: Host;
  readonly can: ReadonlySet<PageVerb>;
  readonly place: ComparePlace;
}

export function ComparePage({ host, can, place }: ComparePageProps) {
  const { batch, task, with: other } = place;
  const [reading, setReading] = useState(1);
  const [view, setView] = useState<View>('two');
  const [rollout, setRollout] = useState(place.rollout);
  useEffect(() => setRollout(place.rollout), [place]);
  const here = useMemo(
    (): ComparePlace => ({
      page: 'compare',
      batch,
      task,
      ...(rollout === undefined ? {} : { rollout }),
      ...(other === undefined ? {} : { with: other }),
    }),
    [batch, task, rollout, other],
  );
  const data = useMemo(() => new CompareData(host, here), [host, batch, task, other, reading]);
  useEffect(() => () => data.close(), [data]);
  useChanges(data.changed);
  useEffect(() => host.setPlace(here, `Attempts of ${task}`), [host, here]);
  const reload = (): void => setReading(reading + 1);
  const act = (action: PageAction): void => actAndSay(host, action);
  return (
    <main class="compare-page">
      <ServerNotices host={host} />
      <CompareHead
        place={here}
        batch={data.batch}
        other={data.other}
        attempts={data.compared?.attempts ?? []}
        can={can}
        act={act}
        onReload={reload}
        view={view}
        onView={setView}
      />
      {data.compared !== undefined && data.open > 0 && (
        <Banner
          kind="info"
          text={
            `${data.open === 1 ? '1 attempt has' : `${data.open} attempts have`} not ended. ` +
            'Reload to see new results.'
          }
          actions={[{ label: 'Reload', onClick: reload }]}
        />
      )}
      <Content
        key={reading}
        data={data}
        place={place}
        left={rollout}
        onLeft={setRollout}
        act={act}
        onReload={reload}
        view={view}
        onView={setView}
      />
    </main>
  );
}

function Content({
  data,
  place,
  left,
  onLeft,
  act,
  onReload,
  view,
  onView,
}: {
  readonly data: CompareData;
  readonly place: ComparePageProps['place'];
  /** Rollout of the left attempt. */
  readonly left: string | undefined;
  readonly onLeft: (rollout: string) => void;
  readonly act: (action: PageAction) => void;
  readonly onReload: () => void;
  readonly view: View;
  readonly onView: (view: View) => void;
}) {
  const { compared, problem } = data;
  if (data.loading === 'failed')
    return (
      <EmptyState
        icon="error"
        title="Cannot load the attempts"
        text={problem ?? ''}
        actions={[{ label: 'Try again', onClick: onReload }]}
      />
    );
  if (compared === undefined || !canShow(compared, view, left))
    return (
      <>
        <p class="compare-reading" role="status">
          {readingText(data)}
        </p>
        <Skeleton />
      </>
    );
  const { whole } = compared;
  if (compared.attempts.length > 1)
    return view === 'all' && whole !== undefined ? (
      <Comparison compared={compared} whole={whole} place={place} act={act} onTwo={() => onView('two')} />
    ) : (
      <TwoView
        compared={compared}
        reading={readingText(data)}
        place={place}
        rollout={left}
        onLeft={onLeft}
        act={act}
        onAll={() => onView('all')}
      />
    );
  return (
    <EmptyState
      icon="info"
      title="Nothing to compare"
      text={`${
        compared.attempts.length === 0
          ? 'No attempt of this task has started.'
          : 'Only one attempt of this task has started.'
      }${data.open > 0 ? '' : ' Run it again with more attempts.'}`}
    />
  );
}

/** Before all attempts are read, only the two columns with which the page opens can be shown. */
function canShow({ whole, attempts, left }: ComparedAttempts, view: View, rollout: string | undefined): boolean {
  return whole !== undefined || (view === 'two' && leftOf(attempts, rollout) === left);
}

function readingText({ read, total }: CompareData): string {
  return total === 0 ? 'Loading attempts…' : `Loading attempt ${Math.min(read + 1, total)} of ${total}`;
}
