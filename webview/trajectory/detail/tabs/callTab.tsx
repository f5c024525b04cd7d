/** Shows the input and output of a tool call, a model call, a message, or any other event. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Json } from '../../../../src/common/json.ts';
import { count } from '../../../../src/common/units.ts';
import { previousCall } from '../../../../src/trace/calls.ts';
import { textOf } from '../../../../src/trace/model/messages.ts';
import type { ModelSpan, ToolSpan } from '../../../../src/trace/model/spans.ts';
import type { AnyEvent } from '../../../../src/trace/model.ts';
import { otherScoresOf } from '../../../../src/trace/prediction/ofCall.ts';
import { PROVENANCE_TITLES, provenanceOf } from '../../../../src/trace/provenance.ts';
import { Checkbox } from '../../../components/controls.tsx';
import { ActionLink } from '../../../components/link.tsx';
import { Ansi } from '../../../text/ansi.tsx';
import { Markdown } from '../../../text/markdown.tsx';
import { PlainText } from '../../../text/plain.tsx';
import { ValueView } from '../../../values/valueView.tsx';
import { WorldRows } from '../../../world/worldRows.tsx';
import type { TrajectoryView } from '../../view.ts';
import { Editable } from '../edit/editable.tsx';
import { useValueActions } from '../parts/actions.ts';
import { ErrorView } from '../parts/errorView.tsx';
import { eventTitle } from '../parts/fieldLabels.ts';
import { Fields } from '../parts/fields.tsx';
import { InjectedFault } from '../parts/injectedFault.tsx';
import { MessageBody } from '../parts/messageBody.tsx';
import { RecordedAnswer } from '../parts/recordedAnswer.tsx';
import { WithPredictions } from '../prediction/predicted.tsx';
import type { Subject } from '../subject.ts';
import { WorldCases } from './worldCases.tsx';

export function CallTab({ view, subject }: { readonly view: TrajectoryView; readonly subject: Subject }) {
  switch (subject.kind) {
    case 'tool':
      return <ToolCall view={view} subject={subject} />;
    case 'model':
      return <ModelCall view={view} subject={subject} />;
    case 'message':
      return (
        <Editable view={view} subject={subject} kind="message">
          {(edit) => (
            <div class="detail-section">
              {edit !== null && (
                <header class="section-head">
                  <h3>Message</h3>
                  <span class="grow" />
                  {edit}
                </header>
              )}
              <MessageBody view={view} entry={subject.entry} />
            </div>
          )}
        </Editable>
      );
    case 'agent':
    case 'world':
      return (
        <>
          <Fields data={subject.span.start.data} title={subject.kind === 'agent' ? 'Agent' : 'World'} />
          {subject.span.end !== undefined && <Fields data={subject.span.end.data} title="End" />}
          {subject.span.end?.data.error !== undefined && <ErrorView view={view} error={subject.span.end.data.error} />}
        </>
      );
    case 'score':
      return null; // It has tabs of its own.
    case 'event':
      return <OtherEvent view={view} subject={subject} />;
  }
}

function ToolCall({
  view,
  subject,
}: {
  readonly view: TrajectoryView;
  readonly subject: Extract<Subject, { kind: 'tool' }>;
}) {
  const { model, blobs } = view.data;
  const { span } = subject;
  const modelCall = subject.step?.model;
  const actions = useValueActions(view);
  const [compare, setCompare] = useState(true);
  const before = previousCall(model, span);
  const against = compare ? before : undefined;
  const args = model.argumentsOf(span);
  const result = model.resultOf(span);
  const seen = model.seenOf(span);
  const notMade = span.end?.data.made === false;
  const real = span.end?.data.real;
  const error = span.end?.data.error;
  const changes = model.diffsOf(span.seq).flatMap((diff) => diff.data.changes);
  const aside = error !== undefined || changes.length > 0;
  return (
    <div class={aside ? 'detail-columns' : undefined}>
      <div class="detail-column">
        <Editable view={view} subject={subject} kind="arguments">
          {(edit) => (
            <ValueView
              title="Arguments"
              value={args.value}
              baseline={against === undefined ? undefined : model.argumentsOf(against).value}
              blobs={blobs}
              {...actions}
            >
              {edit}
              {args.edited && <span class="mark">edited</span>}
              {before !== undefined && (
                <span class="compare">
                  <Checkbox label={`Compare with step ${before.step}`} checked={compare} onChange={setCompare} />
                </span>
              )}
            </ValueView>
          )}
        </Editable>
        {span.start.data.raw !== undefined && (
          <ValueView title="Arguments as text" value={span.start.data.raw} blobs={blobs} {...actions} />
        )}
        <InjectedFault view={view} span={span} />
        <RecordedAnswer view={view} span={span} />
        <WithPredictions
          view={view}
          span={span}
          real={(marks, predict) => (
            <>
              {result === undefined ? (
                <NoResult open={span.end === undefined} failed={error !== undefined} action={predict} />
              ) : (
                <Editable view={view} subject={subject} kind="result">
                  {(edit) => (
                    <ValueView
                      title={notMade || seen === undefined ? 'Result' : 'What the tool returned'}
                      value={result.value}
                      baseline={against === undefined || marks !== undefined ? undefined : resultValue(view, against)}
                      marks={seen === undefined || notMade ? marks : undefined}
                      blobs={blobs}
                      {...actions}
                    >
                      {edit}
                      {predict}
                      {(notMade || seen === undefined) && <ProvenanceMarks view={view} span={span} />}
                      {span.end?.data.cut !== undefined && (
                        <span class="dim">{count(span.end.data.cut)} more bytes were cut off</span>
                      )}
                    </ValueView>
                  )}
                </Editable>
              )}
              {seen !== undefined && !notMade && (
                <ValueView
                  title="What the agent saw"
                  value={seen}
                  baseline={marks === undefined ? result?.value : undefined}
                  marks={marks}
                  blobs={blobs}
                  {...actions}
                >
                  <ProvenanceMarks view={view} span={span} />
                </ValueView>
              )}
            </>
          )}
        />
        {real !== undefined && (
          <ValueView title="What the real tool returned" value={real} blobs={blobs} {...actions} />
        )}
        {otherScoresOf(model, span.seq).map(({ seq, data }) => (
          <Fields key={seq} data={data} title="Score of this call" />
        ))}
        <WorldCases view={view} span={span} />
        {modelCall !== undefined && <ModelText view={view} span={modelCall} />}
      </div>
      {aside && (
        <div class="detail-column">
          {error !== undefined && <ErrorView view={view} error={error} />}
          {changes.length > 0 && (
            <section class="detail-section" aria-label="World">
              <header class="section-head">
                <h3>World</h3>
                <span class="dim">
                  {changes.length} {changes.length === 1 ? 'row' : 'rows'} changed
                </span>
              </header>
              <WorldRows changes={changes} all="the World tab" onAll={() => view.show('world')} />
              {error !== undefined && <p class="remark">The call failed, but it changed the world.</p>}
            </section>
          )}
        </div>
      )}
    </div>
  );
}

function resultValue(view: TrajectoryView, span: ToolSpan): Json | undefined {
  return view.data.model.resultOf(span)?.value;
}

/** Says where the result comes from, if not from the tool itself. */
function ProvenanceMarks({ view, span }: { readonly view: TrajectoryView; readonly span: ToolSpan }) {
  return (
    <>
      {provenanceOf(view.data.model, span).map((from) => (
        <span key={from} class="mark" title={PROVENANCE_TITLES[from]}>
          {from}
        </span>
      ))}
    </>
  );
}

function NoResult({
  open,
  failed,
  action,
}: {
  readonly open: boolean;
  readonly failed: boolean;
  readonly action: ComponentChildren;
}) {
  return (
    <section class="value" aria-label="Result">
      <header class="section-head">
        <h3>Result</h3>
        {action}
      </header>
      <p class="value-empty dim">
        {open ? 'The call has not ended yet.' : failed ? 'No result: the call failed.' : 'The recording has no result.'}
      </p>
    </section>
  );
}

/** Shows the model's text next to its calls. */
function ModelText({ view, span }: { readonly view: TrajectoryView; readonly span: ModelSpan }) {
  const m = span.end?.data.m;
  const entry = m === undefined ? undefined : view.data.model.message(m);
  if (entry === undefined) return null;
  const text = textOf(entry.event.data.parts) || textOf(entry.event.data.parts, 'reasoning');
  if (text.trim() === '') return null;
  return (
    <section class="detail-section" aria-label="Model output">
      <header class="section-head">
        <h3>Model output</h3>
        <span class="grow" />
        <ActionLink label={`message ${entry.m}`} onClick={() => view.go(entry.event.seq)} />
      </header>
      <div class="prose dim">
        <Markdown text={text} onLink={(url) => view.act({ do: 'external', url })} />
      </div>
    </section>
  );
}

function ModelCall({
  view,
  subject,
}: {
  readonly view: TrajectoryView;
  readonly subject: Extract<Subject, { kind: 'model' }>;
}) {
  const { model } = view.data;
  const { span } = subject;
  const end = span.end?.data;
  const entry = end?.m === undefined ? undefined : model.message(end.m);
  const live = span.end === undefined ? view.data.liveText(span.seq) : undefined;
  return (
    <>
      {entry !== undefined && (
        <Editable view={view} subject={subject} kind="reply">
          {(edit) => (
            <div class="detail-section">
              {edit !== null && (
                <header class="section-head">
                  <h3>Reply</h3>
                  <span class="grow" />
                  {edit}
                </header>
              )}
              <MessageBody view={view} entry={entry} />
            </div>
          )}
        </Editable>
      )}
      {span.end === undefined && (
        <section class="detail-section" aria-label="Live text">
          <header class="section-head">
            <h3>Streaming…</h3>
          </header>
          <div class="prose" aria-live="off">
            {live === undefined || live === '' ? (
              <span class="dim">Waiting for the first token.</span>
            ) : (
              <PlainText text={live} wrap />
            )}
          </div>
        </section>
      )}
      {end?.error !== undefined && <ErrorView view={view} error={end.error} />}
      {end !== undefined && (
        <Fields
          title="Response"
          data={withoutKeys(end, ['error', 'tokens', 'm', 'ms', 'status', end.trainable ? 'why_not' : 'trainable'])}
        />
      )}
      <Editable view={view} subject={subject} kind="sampling">
        {(edit) => (
          <Fields title="Request" data={withoutKeys(span.start.data, ['context', 'step'])}>
            {edit}
          </Fields>
        )}
      </Editable>
    </>
  );
}

function OtherEvent({
  view,
  subject,
}: {
  readonly view: TrajectoryView;
  readonly subject: Extract<Subject, { kind: 'event' }>;
}) {
  const { event } = subject;
  const actions = useValueActions(view);
  if ('unknown' in event)
    return <ValueView title={event.kind} value={event.data as Json} blobs={view.data.blobs} {...actions} />;
  if (event.kind === 'log' && typeof event.data.text === 'string') {
    return (
      <section class="detail-section" aria-label="Log">
        <header class="section-head">
          <h3>Log</h3>
          <span class="dim">{event.data.stream}</span>
        </header>
        <div class="prose code">
          <Ansi text={event.data.text} />
        </div>
      </section>
    );
  }
  if (event.kind === 'world.diff')
    return (
      <section class="detail-section" aria-label="World">
        <WorldRows changes={event.data.changes} all="the World tab" onAll={() => view.show('world')} />
      </section>
    );
  const error = 'error' in event.data ? event.data.error : undefined;
  return (
    <>
      {error !== undefined && <ErrorView view={view} error={error} />}
      {event.kind === 'rollout.end' && event.data.answer !== null && (
        <ValueView title="Answer" value={event.data.answer} blobs={view.data.blobs} {...actions} />
      )}
      <Fields title={eventTitle(event.kind)} data={fieldsOf(event)} />
    </>
  );
}

/** Returns the fields below an event's own parts. The head has the outcome of an end. */
function fieldsOf(event: Exclude<AnyEvent, { unknown: unknown }>): object {
  if (event.kind !== 'rollout.end') return withoutKeys(event.data, ['error', 'answer']);
  const { reward, touched } = event.data;
  return withoutKeys(event.data, [
    ...['error', 'answer', 'status', 'passed', 'calls'],
    ...(reward === null ? ['reward'] : []),
    ...(touched ? [] : ['touched']),
  ]);
}

function withoutKeys(data: object, keys: readonly string[]): object {
  return Object.fromEntries(Object.entries(data).filter(([key]) => !keys.includes(key)));
}
