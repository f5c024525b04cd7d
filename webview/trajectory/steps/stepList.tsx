/** The steps of a trajectory, one row each. */
import { VirtualList } from '../../components/virtualList.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import { Icon } from '../../components/marks/icon.tsx';
import { duration } from '../../format.ts';
import type { TrajectorySession } from '../session.ts';
import { failed, StepRows, type Row } from './rows.ts';
import { rowText } from './rowText.ts';
import './steps.css';

const ROW_HEIGHT = 22;

export function StepList({ session }: { readonly session: TrajectorySession }) {
  const { shown } = session;
  return (
    <VirtualList
      count={shown.length} rowHeight={ROW_HEIGHT} label="Steps" role="listbox" selected={session.index} follow={session.following && !session.data.ended}
      onScrolledAway={() => session.follow(false)}
      keyOf={(index) => shown[index]?.seq ?? index}
      row={(index) => { const row = shown[index]; return row === undefined ? null : <StepRow session={session} row={row} />; }}
      onSelect={(index) => { const row = shown[index]; if (row !== undefined) session.go(StepRows.cursorOf(row)); }}
      onOpen={() => session.into()}
    />
  );
}

/** What is new since the cursor's last place is marked at the edge. */
function StepRow({ session, row }: { readonly session: TrajectorySession; readonly row: Row }) {
  const { model, notes, rollout } = session.data;
  const { icon, outcome, name, text, result, marks, ms, open } = rowText(model, row, (span) => session.data.liveText(span));
  const seq = StepRows.cursorOf(row);
  const number = row.kind === 'step' ? model.stepOf(row.seq)?.index : undefined;
  const since = session.before !== 0 && session.before < session.seq && row.seq > session.before && row.seq <= session.seq && marks.some((mark) => mark.kind === 'world');
  const noted = notes.at(rollout, seq).length > 0;
  return (
    <span class={`step-row is-${row.kind}${failed(model, row) ? ' is-failed' : ''}${since ? ' is-since' : ''}`}>
      <span class="step-number">{notes.bookmarked(rollout, seq) && <Icon name="bookmark" label="bookmarked" />}{number}</span>
      <span class="step-indent" style={{ width: `${row.depth * 16}px` }} />
      {outcome === undefined ? <span class="step-icon"><Icon name={icon} /></span> : <span class="step-icon"><Glyph outcome={outcome} title={outcome === 'passed' ? 'ok' : outcome} /></span>}
      {name !== '' && <span class="step-name">{name}</span>}
      <span class="step-text">{text}{result !== undefined && <> → {result}</>}</span>
      {noted && <Icon name="note" label="has a note" />}
      {marks.map((mark) => <span key={mark.text} class={`step-mark is-${mark.kind}`} title={mark.title}>{mark.text}</span>)}
      <span class="step-ms">{open === true ? '…' : ms === undefined ? '' : duration(ms)}</span>
    </span>
  );
}
