/** Explains the outcome: the cause, what was expected, and where the attempt diverges from one that passed. */

import { Fragment } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { endsSentence, plural, sentence } from '../../../src/common/text.ts';
import { causeOf } from '../../../src/trace/cause.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import { outcomeOf } from '../../../src/trace/outcome.ts';
import { ActionLink } from '../../components/link.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import type { Split } from '../../data/split.ts';
import { DiffText } from '../../values/diffText.tsx';
import type { DiffSpan } from '../../values/inlineDiff.ts';
import { currentRow } from '../reason.ts';
import { redMark, redMarks } from '../redMarks.ts';
import type { TrajectorySession } from '../session.ts';
import { argumentDifferences, type Expectation, expectations, explanationAfter } from './verdictText.ts';
import './verdict.css';

/** Failed checks in the text; the list of steps has all. */
const MAX_CHECKS = 2;

export function Verdict({ session }: { readonly session: TrajectorySession }) {
  const { data } = session;
  const row = currentRow(data);
  const ended = data.model.end !== undefined && row?.state === 'ended';
  const marks = <Marks session={session} />;
  if (!ended) {
    // Reserve the line while an ended rollout loads, so that the layout does not shift.
    if (data.loading === 'loading' && row?.state === 'ended') return <div class="verdict">{'\u00a0'}</div>;
    return hasMarks(session) ? <div class="verdict">{marks}</div> : null;
  }
  const cause = causeOf(row);
  return (
    <section class="verdict" aria-label="Verdict">
      <Glyph outcome={outcomeOf(row)} title={outcomeOf(row)} />
      <Clamped key={data.rollout}>
        <b>{cause?.text ?? 'Passed'}.</b> <Reason session={session} cause={cause?.text ?? ''} />
        {data.split !== undefined && <Divergence session={session} split={data.split} />}
        {marks}
      </Clamped>
      {data.trimmed === undefined && <Moves session={session} />}
    </section>
  );
}

/** What was expected, or what ended the rollout. */
function Reason({ session, cause }: { readonly session: TrajectorySession; readonly cause: string }) {
  const { model } = session.data;
  const score = model.scores.at(-1);
  const error = model.end?.data.error ?? score?.data.error;
  const expected = score === undefined ? [] : expectations(score.data);
  if (error !== undefined) return <>{sentence(error.message.trimEnd())} </>;
  if (score === undefined) return null;
  if (expected.length === 0) {
    const explanation = explanationAfter(cause, score.data.explanation);
    return explanation === undefined ? null : <>{sentence(explanation.trimEnd())} </>;
  }
  return (
    <>
      {expected.slice(0, MAX_CHECKS).map((each) => (
        <Fragment key={each.check}>
          {session.data.trimmed === undefined ? (
            <ActionLink label={each.name} onClick={() => session.go(score.seq, each.check)} />
          ) : (
            each.name
          )}{' '}
          <Values expectation={each} />{' '}
        </Fragment>
      ))}
      {expected.length > MAX_CHECKS && <>{plural(expected.length - MAX_CHECKS, 'more failed check')}. </>}
    </>
  );
}

function Values({ expectation: { fields } }: { readonly expectation: Expectation }) {
  return (
    <>
      {fields.map(({ name, expected, actual }, index) => {
        const quoted = endsSentence(endOf(actual));
        return (
          <Fragment key={name ?? ''}>
            {index > 0 && ', '}
            {name !== undefined && <code>{name}</code>} is{' '}
            {actual === undefined ? 'missing' : <Value spans={actual} kind="actual" quoted={quoted} />}, expected{' '}
            <Value spans={expected} kind="expected" quoted={quoted} />
          </Fragment>
        );
      })}
      {endsSentence(endOf(fields.at(-1)?.expected)) ? '' : '.'}
    </>
  );
}

/** In quotes if it ends a sentence, so that the text can go on after it. */
function Value({ quoted, ...value }: Parameters<typeof DiffText>[0] & { readonly quoted: boolean }) {
  if (!quoted) return <DiffText {...value} />;
  return (
    <>
      “<DiffText {...value} />”
    </>
  );
}

function Divergence({ session, split }: { readonly session: TrajectorySession; readonly split: Split }) {
  const { attempt, rollout } = split.other;
  const differences = argumentDifferences(split);
  const { call, otherCall } = split;
  const place = placeOf(session.data.model, split.seq);
  return (
    <span title={`${split.common} earlier ${split.common === 1 ? 'call matches' : 'calls match'}`}>
      Diverges at <ActionLink label={place} onClick={() => session.go(split.seq)} /> from{' '}
      <ActionLink
        label={`attempt ${attempt}`}
        title={`Open attempt ${attempt} (passed) at the same step`}
        onClick={() => session.act({ do: 'open', place: { page: 'trajectory', rollout, seq: split.otherSeq } })}
      />{' '}
      (passed)
      {differences?.map(({ name, own, other }, index) => (
        <Fragment key={name}>
          {index === 0 ? ': ' : ', '}
          <code>{name === '' ? 'arguments' : name}</code> is{' '}
          {own === undefined ? 'missing' : <DiffText spans={own} kind="actual" />}
          {other !== undefined && (
            <>
              {' '}
              instead of <DiffText spans={other} kind="expected" />
            </>
          )}
        </Fragment>
      ))}
      {differences === undefined && (call !== undefined || otherCall !== undefined) && (
        <>
          : <Tool name={call?.data.name} kind="actual" /> instead of{' '}
          <Tool name={otherCall?.data.name} kind="expected" />
        </>
      )}
      .{' '}
    </span>
  );
}

function Tool({ name, kind }: { readonly name: string | undefined; readonly kind: 'actual' | 'expected' }) {
  return name === undefined ? <>no call</> : <DiffText spans={[{ text: name, differs: true }]} kind={kind} />;
}

/** Facts about the rollout that are not its outcome. */
function Marks({ session }: { readonly session: TrajectorySession }) {
  const { model, info } = session.data;
  const fork = model.start?.data.fork;
  const rescores = info?.row.rescores;
  return (
    <>
      {rescores !== undefined && (
        <span class="verdict-rescores">
          Scores{' '}
          <ActionLink
            label={rescores}
            title="Open the rollout that is scored again"
            onClick={() => session.act({ do: 'open', place: { page: 'trajectory', rollout: rescores } })}
          />{' '}
          again.{' '}
        </span>
      )}
      {fork !== undefined && (
        <span class="verdict-fork">
          Fork of{' '}
          <ActionLink
            label={fork.rollout}
            onClick={() =>
              session.act({ do: 'open', place: { page: 'trajectory', rollout: fork.rollout, seq: fork.seq } })
            }
          />
          .{' '}
        </span>
      )}
      {model.end?.data.touched === true && (
        <span class="mark" title="Edited while it ran, so it does not count in statistics">
          touched
        </span>
      )}{' '}
      {!model.timed && (
        <span class="mark" title="No timings in this recording. The axis shows the order of events.">
          no timings
        </span>
      )}
    </>
  );
}

function hasMarks({ data: { model, info } }: TrajectorySession): boolean {
  if (info?.row.rescores !== undefined) return true;
  return model.start?.data.fork !== undefined || !model.timed || model.end?.data.touched === true;
}

/** The places to go to. */
function Moves({ session }: { readonly session: TrajectorySession }) {
  const { model, split } = session.data;
  const marks = redMarks(model);
  const next = redMark(model, session, 1);
  if (marks.length === 0 && split === undefined) return null;
  const label = next === undefined ? 'last error' : 'next error';
  const number = next === undefined ? marks.length : marks.indexOf(next) + 1;
  return (
    <span class="verdict-moves" role="group" aria-label="Go to">
      {marks.length > 0 && (
        <span>
          <kbd>E</kbd> <ActionLink label={label} onClick={() => session.moves.failure(1)} />{' '}
          <span class="dim">
            {number} of {marks.length}
          </span>
        </span>
      )}
      {split !== undefined && (
        <span>
          <kbd>D</kbd> <ActionLink label="divergence" onClick={() => session.go(split.seq)} />
        </span>
      )}
    </span>
  );
}

/** Shows up to four lines, and the rest on request. */
function Clamped({ children }: { readonly children: preact.ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  const [expanded, setExpanded] = useState(false);
  const [clipped, setClipped] = useState(false);
  useLayoutEffect(() => {
    const text = element.current;
    if (text === null) return;
    const measure = (): void => setClipped(text.scrollHeight > text.clientHeight + 1);
    const observer = new ResizeObserver(measure);
    observer.observe(text);
    measure();
    return () => observer.disconnect();
  });
  return (
    <div class="verdict-body">
      <div class={`verdict-text${expanded ? ' is-expanded' : ''}`} ref={element}>
        {children}
      </div>
      {(clipped || expanded) && (
        <ActionLink label={expanded ? 'less' : 'more'} onClick={() => setExpanded(!expanded)} />
      )}
    </div>
  );
}

function placeOf(model: TrajectoryModel, seq: number): string {
  return model.end?.seq === seq ? 'the end' : `step ${model.stepOf(seq)?.index ?? 0}`;
}

function endOf(spans: readonly DiffSpan[] | undefined): string {
  return spans?.at(-1)?.text ?? '';
}
