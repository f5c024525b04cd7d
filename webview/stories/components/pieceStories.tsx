/** Lists, glyphs, banners, and empty states. */
import { useState } from 'preact/hooks';
import { count } from '../../../src/common/units.ts';
import { OUTCOMES } from '../../../src/trace/outcome.ts';
import { ActionLink, SourceLink } from '../../components/link.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import { Icon, type IconName } from '../../components/marks/icon.tsx';
import { ICONS } from '../../components/marks/icons.ts';
import { Banner } from '../../components/notices/banner.tsx';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { Skeleton } from '../../components/notices/skeleton.tsx';
import { HoverCard } from '../../components/overlays/hoverCard.tsx';
import { Quantity } from '../../components/quantity.tsx';
import { Splitter } from '../../components/splitter.tsx';
import { VirtualList } from '../../components/virtualList.tsx';
import { story } from '../index.ts';
import { Sheet } from './controlStories.tsx';

const nothing = (): void => undefined;
const MANY = 337_000;

story('components', 'glyphs', () => (
  <Sheet title="Glyphs and icons">
    <div class="story-line">
      {OUTCOMES.map((outcome) => (
        <span key={outcome} class="story-line">
          <Glyph outcome={outcome} />
          {outcome}
        </span>
      ))}
    </div>
    <div class="story-line">
      {OUTCOMES.map((outcome) => (
        <Glyph key={outcome} outcome={outcome} size={24} title={outcome} />
      ))}
    </div>
    <div class="story-line">
      {(Object.keys(ICONS) as IconName[]).map((name) => (
        <Icon key={name} name={name} label={name} />
      ))}
    </div>
  </Sheet>
));

story('components', 'numbers-and-links', () => (
  <Sheet title="Numbers and links">
    <div class="story-line">
      <Quantity value="412" unit="rollouts/h" />
      <Quantity value="18.2k" unit="tokens" />
    </div>
    <div class="story-line">
      <SourceLink place={{ file: 'tools/loans.ts', line: 41, column: 9 }} onOpen={nothing} />
      <ActionLink label="all changes since start" onClick={nothing} />
    </div>
  </Sheet>
));

function LongList({ role, begin }: { readonly role: 'listbox' | 'list'; readonly begin: number }) {
  const [selected, setSelected] = useState(begin);
  return (
    <Sheet title={`A list of ${count(MANY)} rows`}>
      <div class="story-tall">
        <VirtualList
          count={MANY}
          rowHeight={22}
          label="Events"
          role={role}
          selected={role === 'list' ? -1 : selected}
          keyOf={(index) => index}
          onSelect={setSelected}
          row={(index) => <span>Event {count(index + 1)}</span>}
        />
      </div>
    </Sheet>
  );
}
story('components', 'list-first', () => <LongList role="listbox" begin={0} />);
story('components', 'list-last', () => <LongList role="listbox" begin={MANY - 1} />);
story('components', 'list-plain', () => <LongList role="list" begin={-1} />);
story('components', 'list-empty', () => (
  <Sheet title="An empty list">
    <div class="story-tall">
      <VirtualList
        count={0}
        rowHeight={22}
        label="Events"
        role="list"
        selected={-1}
        keyOf={(index) => index}
        onSelect={nothing}
        row={() => null}
      />
    </div>
  </Sheet>
));

for (const direction of ['row', 'column'] as const) {
  story('components', `splitter-${direction}`, () => (
    <Sheet title="Two parts">
      <div class="story-tall">
        <Splitter
          direction={direction}
          name={`story-${direction}`}
          initial={120}
          min={60}
          first={<p>The first part.</p>}
          second={<p>The second part.</p>}
        />
      </div>
    </Sheet>
  ));
}

story('components', 'banners', () => (
  <Sheet title="Banners">
    <Banner kind="info" text="This is a saved file of 3 May, 9:41." onClose={nothing} />
    <Banner
      kind="warning"
      text="Two files differ from the submission, so lines may have moved."
      actions={[{ label: 'Show Submission', onClick: nothing }]}
    />
    <Banner
      kind="error"
      text="The rollout server stopped: it ran out of memory (exit code 137). Acknowledged events are saved."
      actions={[
        { label: 'Restart', onClick: nothing },
        { label: 'Show Log', onClick: nothing },
      ]}
    />
    <Banner
      kind="held"
      text="Paused before renew_loan (step 5)."
      actions={[{ label: 'Resume', onClick: nothing }]}
      onClose={nothing}
    />
  </Sheet>
));

story('components', 'empty', () => (
  <EmptyState
    icon="beaker"
    title="No batches yet"
    text="A batch runs one agent on many tasks, many times each. Its grid fills here while it runs."
    actions={[
      { label: 'Launch Batch…', onClick: nothing },
      { label: 'Create Sample Workspace', onClick: nothing },
    ]}
  />
));
story('components', 'problem', () => (
  <EmptyState icon="error" title="This page cannot be shown" text="Rollout r7f21c0 was deleted." />
));
story('components', 'loading', () => <Skeleton rows={12} />, { busy: true });

for (const [name, x, y] of [
  ['left', 20, 60],
  ['corner', 4_000, 4_000],
] as const) {
  story('components', `hover-card-${name}`, () => (
    <Sheet title="A card next to its cell">
      <HoverCard
        anchor={new DOMRect(Math.min(x, window.innerWidth - 40), Math.min(y, window.innerHeight - 40), 20, 20)}
      >
        <p>renew-after-fine, attempt 10/32</p>
        <p>loan 17 is due 2026-05-08, expected 2026-05-15 or later</p>
      </HoverCard>
    </Sheet>
  ));
}
