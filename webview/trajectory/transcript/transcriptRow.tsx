/** A row of the transcript: step and role in the gutter, the texts and calls, and the time of its end. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Check } from '../../../src/trace/schema.ts';
import { CheckTable } from '../../checks/checkTable.tsx';
import { ActionLink } from '../../components/link.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import { Icon } from '../../components/marks/icon.tsx';
import { Markdown } from '../../text/markdown.tsx';
import { ValueView } from '../../values/valueView.tsx';
import { useValueActions } from '../detail/parts/actions.ts';
import type { TrajectoryView } from '../view.ts';
import { type Block, type Content, type Folded, lengthOf } from './content.ts';
import type { TranscriptRow as Row } from './rows.ts';
import type { Transcript } from './transcript.ts';

export interface TranscriptView extends TrajectoryView {
  readonly transcript: Transcript;
}

interface RowProps {
  readonly view: TranscriptView;
  readonly row: Row;
  readonly content: Content;
  /** Whether it continues the row before, so that its name is left out. */
  readonly continues: boolean;
  /** Whether all parts are open, for printing. */
  readonly whole: boolean;
}

export function TranscriptRow({ view, row, content, continues, whole }: RowProps) {
  const { icon, title, detail, step, time, outcome, blocks } = content;
  const isAgent = row.kind === 'agent';
  const checks = row.kind === 'score' ? scoreOf(view, row.seq) : undefined;
  return (
    <>
      <span class="tr-gutter">
        <span class="tr-step">{step}</span>
        {outcome === undefined ? <Icon name={icon} /> : <Glyph outcome={outcome} title={outcome} />}
      </span>
      <div class="tr-column" style={{ paddingLeft: `${row.depth * 14}px` }}>
        {Array.from({ length: row.depth }, (_, level) => (
          <span key={level} class="tr-edge" style={{ left: `${level * 14}px` }} />
        ))}
        {!continues && (
          <div class="tr-title" data-part="title">
            {isAgent ? <AgentHead view={view} seq={row.seq} title={title} whole={whole} /> : <b>{title}</b>}
            {detail !== undefined && <span class="dim">{detail}</span>}
          </div>
        )}
        {blocks.map((block, index) => (
          <BlockView key={index} view={view} block={block} whole={whole} />
        ))}
        {checks !== undefined && <CheckTable checks={checks} />}
      </div>
      <span class="tr-time">{time}</span>
    </>
  );
}

function scoreOf({ data }: TranscriptView, seq: number): readonly Check[] | undefined {
  const event = data.model.event(seq);
  return event !== undefined && !('unknown' in event) && event.kind === 'score' ? event.data.checks : undefined;
}

function AgentHead({
  view,
  seq,
  title,
  whole,
}: {
  readonly view: TranscriptView;
  readonly seq: number;
  readonly title: string;
  readonly whole: boolean;
}) {
  const { transcript } = view;
  const open = whole || !transcript.isClosed(seq);
  return (
    <button
      type="button"
      class="tr-line is-agent"
      aria-expanded={open}
      onClick={() => transcript.openAgent(seq, !open)}
    >
      <Icon name={open ? 'chevron-down' : 'chevron-right'} />
      <b>{title}</b>
    </button>
  );
}

interface BlockProps {
  readonly view: TranscriptView;
  readonly block: Block;
  readonly whole: boolean;
}

function BlockView({ view, block, whole }: BlockProps) {
  const actions = useValueActions(view);
  const onLink = (url: string): void => view.act({ do: 'external', url });
  switch (block.kind) {
    case 'text':
      return (
        <div class="tr-text" data-part={block.key}>
          <Markdown text={block.text} onLink={onLink} />
        </div>
      );
    case 'folded':
      return (
        <Part
          view={view}
          part={block}
          whole={whole}
          size={lengthOf(block.text)}
          line={
            <>
              {block.label !== '' && <span class="tr-label">{block.label}</span>}
              <span class={block.label === '' ? 'tr-first' : 'tr-first is-reasoning'} data-part={`${block.key}:line`}>
                {block.line}
              </span>
            </>
          }
        >
          <div class={`tr-text${block.label === '' ? '' : ' is-reasoning'}`} data-part={block.key}>
            <Markdown text={block.text} onLink={onLink} />
          </div>
        </Part>
      );
    case 'call':
      return <Call view={view} block={block} whole={whole} />;
    case 'failure':
      return (
        <div class="tr-failure" data-part={block.key}>
          <Glyph outcome={block.outcome} title={block.outcome} />
          <span>{block.text}</span>
        </div>
      );
    case 'large':
      return (
        <div class="tr-large">
          <ValueView title={block.title} value={block.value} blobs={view.data.blobs} {...actions} />
        </div>
      );
    case 'image':
      return <Picture url={block.url} whole={whole} />;
    case 'link':
      return (
        <p class="tr-text">
          <ActionLink label={block.url} onClick={() => onLink(block.url)} />
        </p>
      );
  }
}

function Call({
  view,
  block: { seq, name, args, result, outcome, error },
  whole,
}: {
  readonly view: TranscriptView;
  readonly block: Extract<Block, { kind: 'call' }>;
  readonly whole: boolean;
}) {
  return (
    <div class={`tr-call${view.seq === seq ? ' is-current' : ''}`} data-seq={seq}>
      <Part
        view={view}
        part={args}
        whole={whole}
        name="Arguments of"
        line={
          <>
            <b data-part={`${args.key}:name`}>{name}</b>
            <span class="tr-first dim" data-part={`${args.key}:line`}>
              {args.line}
            </span>
          </>
        }
      >
        <pre class="plain-text is-wrapped" data-part={args.key}>
          {args.text}
        </pre>
      </Part>
      {result === undefined ? (
        <div class="tr-line is-still dim">running</div>
      ) : (
        <Part
          view={view}
          part={result}
          whole={whole}
          name={`Result of ${name}`}
          size={error ?? sizeOf(result.text)}
          {...(outcome === undefined ? {} : { mark: <Glyph outcome={outcome} title={outcome} /> })}
          line={
            <span class="tr-first" data-part={`${result.key}:line`}>
              {result.line}
            </span>
          }
        >
          <pre class="plain-text is-wrapped" data-part={result.key}>
            {result.text}
          </pre>
        </Part>
      )}
    </div>
  );
}

/** Returns the length of a result of several lines. */
function sizeOf(text: string): string | undefined {
  return text.includes('\n') ? lengthOf(text) : undefined;
}

/** One line that opens and closes the text below. */
function Part({
  view: { transcript },
  part,
  name,
  line,
  size,
  mark,
  whole,
  children,
}: {
  readonly view: TranscriptView;
  readonly part: Folded;
  /** For screen readers, before the line. */
  readonly name?: string;
  readonly line: ComponentChildren;
  readonly size?: string | undefined;
  /** Replaces the arrow. */
  readonly mark?: ComponentChildren;
  readonly whole: boolean;
  readonly children: ComponentChildren;
}) {
  const open = whole || transcript.isOpen(part.key);
  return (
    <div class="tr-part">
      <button type="button" class="tr-line" aria-expanded={open} onClick={() => transcript.open(part.key, !open)}>
        {name !== undefined && <span class="only-read">{name}</span>}
        <span class="tr-mark">{mark ?? <Icon name={open ? 'chevron-down' : 'chevron-right'} />}</span>
        {line}
        {size !== undefined && <span class="tr-size dim">{size}</span>}
      </button>
      {open && <div class="tr-open">{children}</div>}
    </div>
  );
}

function Picture({ url, whole }: { readonly url: string; readonly whole: boolean }) {
  const [large, setLarge] = useState(false);
  const open = large || whole;
  return (
    <button
      type="button"
      class={`tr-picture${open ? ' is-large' : ''}`}
      aria-expanded={open}
      title={open ? 'Show smaller' : 'Show in full size'}
      onClick={() => setLarge(!large)}
    >
      <img src={url} alt="Image of the message" />
    </button>
  );
}
