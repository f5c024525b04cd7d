/** Lists the steps of a trajectory, one row each, with equal consecutive rows folded. */
import type { HTMLAttributes } from 'preact';
import { useMemo } from 'preact/hooks';
import { compact, count, duration } from '../../../src/common/units.ts';
import type { Outcome } from '../../../src/trace/outcome.ts';
import { Glyph } from '../../components/marks/glyph.tsx';
import { Icon } from '../../components/marks/icon.tsx';
import { VirtualList } from '../../components/virtualList.tsx';
import { ForkMarks } from '../forks.tsx';
import type { TrajectorySession } from '../session.ts';
import type { Fold } from './folds.ts';
import { Gutter } from './gutter.tsx';
import { Marked } from './marked.tsx';
import { type Row, StepRows } from './rows.ts';
import { rowText } from './rowText.ts';
import './steps.css';

const ROW_HEIGHT = 22;

export function StepList({ session }: { readonly session: TrajectorySession }) {
  const rows = session.shown;
  const own = ownFrom(session);
  const goTo = (row: Row | undefined): void => {
    if (row !== undefined) session.goToRow(row);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (
      (event.key !== 'ArrowRight' && event.key !== 'ArrowLeft') ||
      event.altKey ||
      event.ctrlKey ||
      event.metaKey ||
      event.shiftKey
    )
      return;
    event.preventDefault();
    session.fold(event.key === 'ArrowRight');
  };
  return (
    <div class="steps-rows" onKeyDown={onKeyDown}>
      <VirtualList
        count={rows.length}
        rowHeight={ROW_HEIGHT}
        label="Steps"
        role="tree"
        selected={session.index}
        follow={session.following && session.data.loading === 'head' && !session.data.ended}
        onScrolledAway={() => session.follow(false)}
        keyOf={(index) => keyOf(rows[index]) ?? index}
        row={(index) => {
          const row = rows[index];
          return row === undefined ? null : <StepRow session={session} row={row} own={row.seq === own} />;
        }}
        rowProps={(index) => propsOf(session, rows[index])}
        onSelect={(index) => goTo(rows[index])}
        onOpen={() => session.moves.into()}
        layout={session.look}
      />
    </div>
  );
}

/** Returns the seq; the rows of a score's checks share it. */
function keyOf(row: Row | undefined): string | number | undefined {
  return row?.check === undefined ? row?.seq : `${row.seq}.${row.check}`;
}

function propsOf(session: TrajectorySession, row: Row | undefined): HTMLAttributes<HTMLDivElement> {
  if (row === undefined) return {};
  const fold = session.foldOf(row);
  return { 'aria-level': row.depth + 1, ...(fold === undefined ? {} : { 'aria-expanded': fold.open }) };
}

/** Returns the seq of a fork's first row after the shared part. */
function ownFrom({ data, look }: TrajectorySession): number | undefined {
  const cut = data.model.start?.data.fork?.seq;
  return cut === undefined ? undefined : look.rows.all.find((row) => row.seq > cut)?.seq;
}

/** A row of the list. Changes since the previous position of the cursor are marked at the edge. */
function StepRow({
  session,
  row,
  own,
}: {
  readonly session: TrajectorySession;
  readonly row: Row /** Whether it is the first row of a fork after the shared part. */;
  readonly own: boolean;
}) {
  const { model, notes, rollout, split } = session.data;
  const { icon, outcome, name, text, result, marks, ms, open, agent, tokens } = rowText(model, row, (span) =>
    session.data.liveText(span),
  );
  const seq = StepRows.cursorOf(row);
  const number = row.kind === 'step' ? model.stepOf(row.seq)?.index : undefined;
  const since =
    session.before !== 0 &&
    session.before < session.seq &&
    row.seq > session.before &&
    row.seq <= session.seq &&
    marks.some((mark) => mark.kind === 'world');
  const noted = row.check === undefined && notes.at(rollout, seq).length > 0;
  const splits = split !== undefined && (split.seq === seq || split.seq === row.seq);
  const held = outcome === 'held' && (row.kind !== 'hold' || model.event(row.seq)?.span === undefined);
  const fold = session.foldOf(row);
  const found = session.found?.rows.has(row.seq) === true ? session.found : undefined;
  const bookmarked = notes.isBookmarked(rollout, seq);
  const words = found?.words;
  // Memoized, because each step redraws all visible rows, while at most two have changed.
  const content = useMemo(
    () => (
      <>
        <span class="step-number">
          {bookmarked && <Icon name="bookmark" label="bookmarked" />}
          {number}
        </span>
        <FoldSign session={session} row={row} fold={fold} />
        <span class="step-indent" style={{ width: `${row.depth * 16}px` }} />
        {outcome === undefined ? (
          <span class="step-icon">
            <Icon name={icon} />
          </span>
        ) : (
          <span class="step-icon">
            <Glyph outcome={outcome} title={titleOf(outcome, row)} />
          </span>
        )}
        {agent !== undefined && (
          <span class="step-agent" title={`Agent ${agent.path}`}>
            {agent.name}
          </span>
        )}
        {name !== '' && (
          <span class="step-name">
            <Marked text={name} words={words} />
          </span>
        )}
        {fold !== undefined && !fold.open && row.kind !== 'score' && (
          <b class="step-times" title={`${fold.count} equal rows, expand (→)`}>
            ×{fold.count}
          </b>
        )}
        <span class="step-text">
          <Marked text={text} words={words} />
          {result !== undefined && (
            <>
              {' '}
              → <Marked text={result} words={words} />
            </>
          )}
        </span>
        {noted && <Icon name="note" label="has a note" />}
        {splits && (
          <span
            class="step-mark is-split"
            title={
              `Diverges from attempt ${split.other.attempt} (passed). ${split.common} earlier ` +
              `${split.common === 1 ? 'call matches' : 'calls match'}.`
            }
          >
            <Icon name="repo-forked" /> diverges
          </span>
        )}
        {own && (
          <span
            class="step-mark is-plain"
            title={`Shares the steps before with ${model.start?.data.fork?.rollout ?? 'its parent'}`}
          >
            fork starts here
          </span>
        )}
      </>
    ),
    [
      session,
      row,
      bookmarked,
      number,
      fold?.open,
      fold?.count,
      outcome,
      icon,
      agent?.path,
      name,
      text,
      result,
      words,
      noted,
      splits && split,
      own,
    ],
  );
  const figures = useMemo(
    () => (
      <>
        {marks.map((mark) => (
          <span key={mark.text} class={`step-mark is-${mark.kind}`} title={mark.title}>
            {mark.text}
          </span>
        ))}
        {tokens !== undefined && (
          <span
            class="step-tokens"
            title={`${count(tokens.input)} input tokens, ${count(tokens.output)} output tokens`}
          >
            {compact(tokens.input)} → {compact(tokens.output)}
          </span>
        )}
        <span class="step-ms">{open === true ? '…' : ms === undefined ? '' : duration(ms)}</span>
      </>
    ),
    [
      marks.map(({ kind, text, title }) => `${kind} ${text} ${title}`).join('\n'),
      tokens?.input,
      tokens?.output,
      open,
      ms,
    ],
  );
  return (
    <span
      class={
        'step-row ' +
        `is-${row.kind}${since ? ' is-since' : ''}${held ? ' is-held' : ''}${own ? ' is-own' : ''}` +
        (splits ? ' is-split' : '') +
        (found === undefined ? '' : ' is-found')
      }
    >
      <Gutter session={session} row={row} held={held} />
      {content}
      <ForkMarks session={session} seqs={[row.seq, seq]} />
      {figures}
    </span>
  );
}

function titleOf(outcome: Outcome, { kind }: Row): string {
  return outcome === 'passed' ? 'ok' : outcome === 'infrastructure' && kind !== 'end' ? 'interrupted' : outcome;
}

/** Expands or collapses a fold by click; the keyboard uses Right and Left. */
function FoldSign({
  session,
  row,
  fold,
}: {
  readonly session: TrajectorySession;
  readonly row: Row;
  readonly fold: Fold | undefined;
}) {
  if (fold === undefined) return <span class="step-fold" />;
  const onClick = (event: MouseEvent): void => {
    event.stopPropagation();
    session.goToRow(row);
    session.fold(!fold.open);
  };
  return (
    <span
      class="step-fold is-fold"
      onClick={onClick}
      onDblClick={(event) => event.stopPropagation()}
      title={
        row.kind === 'score'
          ? fold.open
            ? 'Collapse checks (H)'
            : 'Expand checks (L)'
          : fold.open
            ? 'Collapse equal rows (←)'
            : `Expand ${fold.count} equal rows (→)`
      }
    >
      <Icon name={fold.open ? 'chevron-down' : 'chevron-right'} />
    </span>
  );
}
