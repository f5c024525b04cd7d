/** Shows the parts of a message, each by its type. */

import type { Json } from '../../../../src/common/json.ts';
import { webLink } from '../../../../src/common/webLink.ts';
import type { MessageEntry } from '../../../../src/trace/model/messages.ts';
import type { Part } from '../../../../src/trace/schema.ts';
import { valueText } from '../../../../src/trace/text/values.ts';
import { troubleOf } from '../../../../src/trace/trouble.ts';
import { ActionLink } from '../../../components/link.tsx';
import { Glyph } from '../../../components/marks/glyph.tsx';
import { TROUBLES } from '../../../components/marks/glyphShapes.ts';
import { Markdown } from '../../../text/markdown.tsx';
import { ValueView } from '../../../values/valueView.tsx';
import type { TrajectoryView } from '../../view.ts';
import { useValueActions } from './actions.ts';

export function MessageBody({ view, entry }: { readonly view: TrajectoryView; readonly entry: MessageEntry }) {
  return (
    <>
      {entry.event.data.parts.map((part, index) => (
        <PartView
          key={index}
          view={view}
          part={part}
          of={`message ${entry.m}${index === 0 ? '' : `, part ${index + 1}`}`}
        />
      ))}
    </>
  );
}

/** `of`: the name of the part for screen readers. */
function PartView({ view, part, of }: { readonly view: TrajectoryView; readonly part: Part; readonly of: string }) {
  const actions = useValueActions(view);
  const { blobs } = view.data;
  switch (part.type) {
    case 'text':
    case 'reasoning': {
      const title = part.type === 'text' ? 'Text' : 'Reasoning';
      if (typeof part.content !== 'string')
        return <ValueView title={title} value={part.content} blobs={blobs} {...actions} />;
      if (part.content === '') return null;
      return (
        <div class={`prose message-${part.type}`}>
          {part.type === 'reasoning' && <span class="mark">reasoning</span>}
          <Markdown text={part.content} onLink={(url) => view.act({ do: 'external', url })} />
        </div>
      );
    }
    case 'tool_call':
      return <CallLine view={view} id={part.id} name={part.name} asked={part.arguments} />;
    case 'tool_call_response':
      return <ValueView title="Response" label={`Response, ${of}`} value={part.response} blobs={blobs} {...actions} />;
    case 'blob':
      if (typeof part.content !== 'string')
        return <ValueView title={part.modality ?? part.mime_type} value={part.content} blobs={blobs} {...actions} />;
      return (
        <ValueView
          title={part.modality ?? part.mime_type}
          value={part.mime_type.startsWith('image/') ? `data:${part.mime_type};base64,${part.content}` : part.content}
          blobs={blobs}
          {...actions}
        />
      );
    case 'uri':
      return (
        <div class="prose">
          {webLink(part.uri) === undefined ? (
            part.uri
          ) : (
            <ActionLink label={part.uri} onClick={() => view.act({ do: 'external', url: part.uri })} />
          )}
        </div>
      );
  }
}

function CallLine({
  view,
  id,
  name,
  asked,
}: {
  readonly view: TrajectoryView;
  readonly id: string;
  readonly name: string;
  readonly asked: Json;
}) {
  const span = view.data.model.call(id);
  const trouble = troubleOf(span);
  const outcome = span?.end === undefined ? 'running' : trouble === undefined ? 'passed' : TROUBLES[trouble];
  return (
    <button
      type="button"
      class="call-line"
      disabled={span === undefined}
      onClick={() => {
        if (span !== undefined) view.go(span.seq);
      }}
      title={span === undefined ? 'This call was not made.' : 'Go to this call'}
    >
      <code>{name}</code> <span class="call-arguments">{valueText(asked)}</span>{' '}
      {span !== undefined && <Glyph outcome={outcome} />}
    </button>
  );
}
