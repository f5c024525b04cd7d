/** The right side of the trajectory page: details of the selected event. */
import { useEffect, useRef } from 'preact/hooks';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { Skeleton } from '../../components/notices/skeleton.tsx';
import { TabPanel, Tabs } from '../../components/tabs.tsx';
import { SCORE_TABS, TABS, type Tab, type TrajectoryView } from '../view.ts';
import { DetailHead } from './detailHead.tsx';
import { AnswerTab, CheckedWorldTab, CheckTab } from './score/scoreTabs.tsx';
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
const SCORE_NAMES: Partial<Readonly<Record<Tab, string>>> = { call: 'Check', messages: 'Answer' };
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
  }, [view.seq, view.check, view.tab]);
  const subject = subjectAt(view.data.model, view.seq, view.check);
  if (subject === undefined && view.data.loading === 'loading') return <Skeleton />;
  if (subject === undefined)
    return (
      <EmptyState
        icon="list-selection"
        title="Nothing selected"
        text="Select a step or a call to see its arguments and result."
      />
    );
  const isScore = subject.kind === 'score';
  const tabs = isScore ? SCORE_TABS : TABS;
  const tab = tabs.includes(view.tab) ? view.tab : 'call';
  const nameOf = (id: Tab): string => (isScore ? SCORE_NAMES[id] : undefined) ?? NAMES[id];
  return (
    <section class="detail" aria-label="Detail">
      <DetailHead view={view} subject={subject} />
      <Tabs
        label="Detail"
        tabs={tabs.map((id) => ({ id, label: nameOf(id), ...badgeOf(view, subject, id) }))}
        selected={tab}
        onSelect={(id) => view.show(TABS.find((each) => each === id) ?? 'call')}
      />
      <TabPanel id={tab} label={nameOf(tab)}>
        <div class="detail-body" ref={scroller} tabIndex={0}>
          {view.data.model.skipped !== undefined && !isScore && (tab === 'messages' || tab === 'world') ? (
            <p class="remark">Earlier events are still loading.</p>
          ) : (
            <Panel view={view} subject={subject} tab={tab} />
          )}
        </div>
      </TabPanel>
    </section>
  );
}

function Panel({
  view,
  subject,
  tab,
}: {
  readonly view: TrajectoryView;
  readonly subject: Subject;
  readonly tab: Tab;
}) {
  if (subject.kind === 'score') {
    if (tab === 'call') return <CheckTab view={view} subject={subject} />;
    if (tab === 'world') return <CheckedWorldTab view={view} subject={subject} />;
    if (tab === 'messages') return <AnswerTab view={view} subject={subject} />;
  }
  const Content = PANELS[tab];
  return <Content view={view} subject={subject} />;
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
