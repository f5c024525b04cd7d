/** The right side of the trajectory page: details of the selected event. */
import { useEffect, useRef } from 'preact/hooks';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { Skeleton } from '../../components/notices/skeleton.tsx';
import { TabPanel, Tabs } from '../../components/tabs.tsx';
import { TABS, type Tab, type TrajectoryView } from '../view.ts';
import { DetailHead } from './detailHead.tsx';
import { modelCallOf, type Subject, subjectAt } from './subject.ts';
import { CallTab } from './tabs/callTab.tsx';
import { MessagesTab } from './tabs/messagesTab.tsx';
import { RawTab } from './tabs/rawTab.tsx';
import { TimingTab } from './tabs/timingTab.tsx';
import { TokensTab } from './tabs/tokensTab.tsx';
import { WorldTab } from './tabs/worldTab.tsx';
import './detail.css';

const NAMES: Readonly<Record<Tab, string>> = {
  call: 'Call',
  messages: 'Messages',
  world: 'World',
  tokens: 'Tokens',
  timing: 'Timing',
  raw: 'Raw',
};
const PANELS = {
  call: CallTab,
  messages: MessagesTab,
  world: WorldTab,
  tokens: TokensTab,
  timing: TimingTab,
  raw: RawTab,
} as const;

/** Rerendered by the page when the trajectory, the selection, or the tab changed. */
export function Detail({ view }: { readonly view: TrajectoryView }) {
  const scroller = useRef<HTMLDivElement>(null);
  // A new selection starts at the top; an update keeps the scroll position.
  useEffect(() => {
    if (scroller.current !== null) scroller.current.scrollTop = 0;
  }, [view.seq, view.tab]);
  const subject = subjectAt(view.data.model, view.seq);
  if (subject === undefined && view.data.loading === 'loading') return <Skeleton />;
  if (subject === undefined)
    return (
      <EmptyState
        icon="list-selection"
        title="Nothing selected"
        text="Select a step or a call to see its arguments and result."
      />
    );
  const Panel = PANELS[view.tab];
  return (
    <section class="detail" aria-label="Detail">
      <DetailHead view={view} subject={subject} />
      <Tabs
        label="Detail"
        tabs={TABS.map((id) => ({ id, label: NAMES[id], ...badgeOf(view, subject, id) }))}
        selected={view.tab}
        onSelect={(id) => view.show(TABS.find((tab) => tab === id) ?? 'call')}
      />
      <TabPanel id={view.tab} label={NAMES[view.tab]}>
        <div class="detail-body" ref={scroller} tabIndex={0}>
          {view.data.model.skipped !== undefined && (view.tab === 'messages' || view.tab === 'world') ? (
            <p class="remark">Earlier events are still loading.</p>
          ) : (
            <Panel view={view} subject={subject} />
          )}
        </div>
      </TabPanel>
    </section>
  );
}

function badgeOf(view: TrajectoryView, subject: Subject, tab: Tab): { badge?: string } {
  if (tab === 'world' && subject.kind === 'tool') {
    const rows = view.data.model.diffsOf(subject.span.seq).reduce((sum, diff) => sum + diff.data.changes.length, 0);
    return rows === 0 ? {} : { badge: String(rows) };
  }
  if (tab === 'tokens') {
    const tokens = modelCallOf(subject)?.end?.data.usage?.output_tokens;
    return tokens === undefined ? {} : { badge: String(tokens) };
  }
  return {};
}
