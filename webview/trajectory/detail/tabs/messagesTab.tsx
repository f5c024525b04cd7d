/** Shows the context of the model call in this step, or all messages so far. */
import { useMemo, useState } from 'preact/hooks';
import { count } from '../../../../src/common/units.ts';
import { stateAt } from '../../../../src/trace/fold.ts';
import { isGivenReply, type MessageEntry } from '../../../../src/trace/model/messages.ts';
import type { TrajectoryModel } from '../../../../src/trace/model.ts';
import { PROVENANCE_TITLES, provenanceOfMessage } from '../../../../src/trace/provenance.ts';
import { partsText } from '../../../../src/trace/text/values.ts';
import { Button, Dropdown } from '../../../components/controls.tsx';
import { Icon } from '../../../components/marks/icon.tsx';
import { GIVEN_REPLY } from '../../steps/rowText.ts';
import type { TrajectoryView } from '../../view.ts';
import { MessageBody } from '../parts/messageBody.tsx';
import { modelCallOf, type Subject } from '../subject.ts';

/** Number of messages shown before the user requests more. */
const INITIAL_LIMIT = 60;
const ICONS = { system: 'gear', user: 'person', assistant: 'hubot', tool: 'tools' } as const;

export function MessagesTab({ view, subject }: { readonly view: TrajectoryView; readonly subject: Subject }) {
  const { model } = view.data;
  const [all, setAll] = useState(false);
  const [limit, setLimit] = useState(INITIAL_LIMIT);
  const call = modelCallOf(subject);
  const at = call?.end?.seq ?? view.seq;
  const entries = useMemo(
    () => (all ? model.messages.filter((entry) => entry.event.seq <= at) : stateAt(model, at, call?.agent).messages),
    [model, all, at, call, view.data.ended],
  );
  const earlier = useMemo(() => seenBefore(model, call?.seq), [model, call]);
  const visible = entries.slice(-limit);
  const fresh = entries.filter((entry) => !earlier.has(entry.m)).length;
  return (
    <div class="messages">
      <div class="panel-tools">
        <Dropdown
          label="Messages shown"
          value={all ? 'all' : 'context'}
          options={[
            { value: 'context', text: 'Context of this step' },
            { value: 'all', text: 'All messages so far' },
          ]}
          onChange={(value) => setAll(value === 'all')}
        />
        <span class="dim">
          {count(entries.length)} {entries.length === 1 ? 'message' : 'messages'}
          {!all && `, ${fresh} new in this step`}
        </span>
      </div>
      {entries.length > visible.length && (
        <div class="panel-tools">
          <Button
            kind="secondary"
            label={`Show ${count(entries.length - visible.length)} earlier messages`}
            onClick={() => setLimit(entries.length)}
          />
        </div>
      )}
      {visible.map((entry) => (
        <Message key={entry.event.seq} view={view} entry={entry} fresh={!earlier.has(entry.m)} />
      ))}
      {entries.length === 0 && <p class="value-empty dim">No messages yet.</p>}
    </div>
  );
}

function Message({
  view,
  entry,
  fresh,
}: {
  readonly view: TrajectoryView;
  readonly entry: MessageEntry;
  readonly fresh: boolean;
}) {
  const { role, parts, origin, from, to, topic } = entry.event.data;
  const isGiven = isGivenReply(entry.event.data);
  const [open, setOpen] = useState(role !== 'system' && fresh);
  return (
    <article class={`message${fresh ? ' is-new' : ''}`} aria-label={`Message ${entry.m}, ${role}`}>
      <button type="button" class="message-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? 'chevron-down' : 'chevron-right'} />
        <Icon name={ICONS[role]} />
        <strong>
          {entry.event.agent !== undefined && role === 'assistant' && !isGiven ? entry.event.agent : role}
        </strong>
        {origin !== 'given' && origin !== 'sampled' && origin !== 'tool' && <span class="mark">{origin}</span>}
        {provenanceOfMessage(view.data.model, entry).map((of) => (
          <span key={of} class="mark" title={PROVENANCE_TITLES[of]}>
            {of}
          </span>
        ))}
        {isGiven && (
          <span class="mark" title={GIVEN_REPLY}>
            given
          </span>
        )}
        {(from !== undefined || to !== undefined) && (
          <span class="dim">
            {from ?? ''} → {to ?? ''}
          </span>
        )}
        {topic !== undefined && (
          <span class="mark" title={envelopeText(entry)}>
            {topic}
          </span>
        )}
        {!open && <span class="message-preview dim">{preview(parts)}</span>}
        <span class="grow" />
        <span class="dim">{entry.m}</span>
      </button>
      {open && (
        <div class="message-body">
          {topic !== undefined && <p class="dim">{envelopeText(entry)}</p>}
          <MessageBody view={view} entry={entry} />
        </div>
      )}
    </article>
  );
}

/** Formats the envelope of a message between agents: topic, priority, headers. */
function envelopeText({
  event: {
    data: { topic = '', priority, headers = {} },
  },
}: MessageEntry): string {
  const headerTexts = Object.entries(headers).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [`Topic: ${topic}`, ...(priority === undefined ? [] : [`Priority: ${priority}`]), ...headerTexts].join(' · ');
}

function preview(parts: MessageEntry['event']['data']['parts']): string {
  const text = partsText(parts);
  const calls = parts.flatMap((part) => (part.type === 'tool_call' ? [part.name] : []));
  return (text === '' ? calls.join(', ') : text).slice(0, 200).replaceAll('\n', ' ');
}

/** Returns the ordinals of messages that the agent's previous call had in its context or produced. */
function seenBefore(model: TrajectoryModel, seq: number | undefined): ReadonlySet<number> {
  const call = seq === undefined ? undefined : model.span(seq);
  if (call?.kind !== 'model') return new Set();
  const starts = model.agent(call.agent)?.modelStarts ?? [];
  const before = starts[starts.indexOf(call.seq) - 1];
  const earlier = before === undefined ? undefined : model.span(before);
  if (earlier?.kind !== 'model') return new Set();
  const seen = new Set<number>();
  for (const [first, last] of earlier.start.data.context) for (let m = first; m <= last; m++) seen.add(m);
  if (earlier.end?.data.m !== undefined) seen.add(earlier.end.data.m);
  return seen;
}
