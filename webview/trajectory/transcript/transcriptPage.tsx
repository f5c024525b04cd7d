/** The trajectory as text to read from top to bottom. */
import { useEffect, useReducer, useRef } from 'preact/hooks';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { Skeleton } from '../../components/notices/skeleton.tsx';
import { useChanges } from '../../data/observe.ts';
import type { TrajectorySession } from '../session.ts';
import { FindBox } from './findBox.tsx';
import { clearHighlights, highlight } from './highlight.ts';
import type { TranscriptRow as Row } from './rows.ts';
import { Scroller } from './scroller.tsx';
import { TranscriptSide } from './side.tsx';
import { TranscriptRow } from './transcriptRow.tsx';
import './transcript.css';

const LINE_HEIGHT = 18;
const LINE_CHARS = 100;

export function TranscriptPage({ session }: { readonly session: TrajectorySession }) {
  const { transcript, data } = session;
  useChanges(transcript.changed);
  const whole = usePrinting();
  const element = useRef<HTMLDivElement>(null);
  /** The match that was scrolled to. */
  const scrolledTo = useRef<unknown>(undefined);
  useEffect(
    () => () => {
      clearHighlights();
      transcript.closeFind();
    },
    [transcript],
  );
  const rows = transcript.shown;
  const { index } = transcript;
  const { last } = data.model;
  useEffect(() => transcript.advance(), [last]);
  if (rows.length === 0) {
    if (data.loading === 'loading') return <Skeleton />;
    return (
      <EmptyState
        icon="comment"
        title={data.ended ? 'This recording holds no messages' : 'No messages yet'}
        text={data.ended ? 'Its events are in the list of steps.' : 'They appear here as the rollout writes them.'}
        actions={[{ label: 'Show Steps', onClick: () => session.read(false) }]}
      />
    );
  }
  const current = transcript.found[transcript.current];
  const go = (event: MouseEvent, row: Row): void => {
    const target = event.target instanceof Element ? event.target : undefined;
    if (window.getSelection()?.isCollapsed === false) return; // The user selects text.
    const call = target?.closest<HTMLElement>('[data-seq]')?.dataset['seq'];
    session.go(call === undefined ? row.seq : Number(call));
  };
  return (
    <div class="transcript" ref={element}>
      <div class="transcript-main">
        {transcript.finding && (
          <FindBox
            transcript={transcript}
            onClosed={() => element.current?.querySelector<HTMLElement>('.transcript-scroll')?.focus()}
          />
        )}
        <Scroller
          rows={rows}
          selected={index}
          follow={session.following && data.loading === 'head' && !data.ended}
          onScrolledAway={() => session.follow(false)}
          whole={whole}
          onShowing={(first, last) => transcript.showing(first, last)}
          control={transcript}
          estimate={(row) => estimate(session, row)}
          row={(row, at) => (
            <TranscriptRow
              view={session}
              row={row}
              content={transcript.contentOf(row)}
              continues={continues(session, rows, at)}
              whole={whole}
            />
          )}
          rowProps={(row, at) => ({
            class: `tr-row is-${row.kind}${at === index ? ' is-current' : ''}`,
            ...(at === index ? { 'aria-current': 'true' as const } : {}),
            onClick: (event) => go(event, row),
          })}
          onRendered={(root) => {
            const article = current === undefined ? undefined : root.querySelector<HTMLElement>('.is-current');
            const place = highlight(root, transcript.query, article ?? undefined, current);
            if (scrolledTo.current === current || place === undefined) return undefined;
            scrolledTo.current = current;
            return place;
          }}
        />
      </div>
      <TranscriptSide session={session} />
    </div>
  );
}

/** Returns whether a turn without text follows a turn of the same agent: its calls need no other heading. */
function continues({ transcript }: TrajectorySession, rows: readonly Row[], at: number): boolean {
  const [row, before] = [rows[at], rows[at - 1]];
  if (row?.kind !== 'turn' || before?.kind !== 'turn' || row.inside !== before.inside) return false;
  const content = transcript.contentOf(row);
  return (
    content.blocks.length > 0 &&
    content.blocks.every(({ kind }) => kind === 'call') &&
    content.title === transcript.contentOf(before).title
  );
}

/** Returns the expected height of a row. Looks only at lengths, because a page does so for all rows. */
function estimate({ data: { model } }: TrajectorySession, row: Row): number {
  const event = model.event(row.seq);
  if (event === undefined || 'unknown' in event) return 44;
  if (event.kind === 'message') return 30 + (event.data.role === 'system' ? LINE_HEIGHT : textHeight(event.data.parts));
  if (event.kind !== 'model.start' || row.kind === 'side') return 44 + (row.kind === 'side' ? LINE_HEIGHT : 0);
  const step = model.stepOf(row.seq);
  const m = step?.model?.end?.data.m;
  const parts = m === undefined ? [] : (model.message(m)?.event.data.parts ?? []);
  return 30 + textHeight(parts) + (step?.tools.length ?? 0) * 52;
}

function textHeight(parts: readonly { readonly type: string; readonly content?: unknown }[]): number {
  let lines = 0;
  for (const { type, content } of parts) {
    if (type === 'text' && typeof content === 'string') lines += Math.ceil(content.length / LINE_CHARS);
    else if (type === 'reasoning') lines += 1;
  }
  return lines * LINE_HEIGHT;
}

/** Returns whether the page is being printed: then all rows are rendered, with all parts open. */
function usePrinting(): boolean {
  const [printing, set] = useReducer((_: boolean, on: boolean) => on, false);
  useEffect(() => {
    const [before, after] = [() => set(true), () => set(false)];
    window.addEventListener('beforeprint', before);
    window.addEventListener('afterprint', after);
    return () => {
      window.removeEventListener('beforeprint', before);
      window.removeEventListener('afterprint', after);
    };
  }, []);
  return printing;
}
