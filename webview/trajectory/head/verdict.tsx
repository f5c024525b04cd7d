/** Explains the outcome in one line: the scorer's explanation, where it diverges, the first error, and other facts. */

import { failure } from '../../../src/trace/cursor.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import { errorLabel } from '../../../src/trace/text/labels.ts';
import { ActionLink } from '../../components/link.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import type { TrajectorySession } from '../session.ts';

export function Verdict({ session }: { readonly session: TrajectorySession }) {
  const { data } = session;
  const { model } = data;
  const score = model.scores.at(-1)?.data;
  const end = model.end?.data;
  const first = model.skipped === undefined ? failure(model, 0, 1) : undefined;
  const fork = model.start?.data.fork;
  const parts: preact.ComponentChild[] = [];
  if (end?.error !== undefined)
    parts.push(
      <span key="end">
        <Glyph
          outcome={
            end.status === 'truncated' ? 'truncated' : end.status === 'infrastructure' ? 'infrastructure' : 'failed'
          }
        />{' '}
        {errorLabel(end.error.class)}: {end.error.message}
      </span>,
    );
  if (score !== undefined)
    parts.push(
      <span key="score">
        <Glyph outcome={score.passed === true ? 'passed' : score.passed === false ? 'failed' : 'unscored'} />{' '}
        <span class="dim">{score.scorer}</span>{' '}
        {score.explanation ?? (score.value === null ? 'cannot be scored' : score.value)}
      </span>,
    );
  const { split } = data;
  if (split !== undefined) {
    parts.push(
      <span key="split" title={`${split.common} earlier ${split.common === 1 ? 'call matches' : 'calls match'}`}>
        <span class="dim">diverges at</span>{' '}
        <ActionLink label={placeOf(model, split.seq)} onClick={() => session.go(split.seq)} />{' '}
        <span class="dim">from</span>{' '}
        <ActionLink
          label={`attempt ${split.other.attempt}`}
          title={`Open attempt ${split.other.attempt} (passed) at the same step`}
          onClick={() =>
            session.act({
              do: 'open',
              place: { page: 'trajectory', rollout: split.other.rollout, seq: split.otherSeq },
            })
          }
        />{' '}
        <span class="dim">(passed)</span>
      </span>,
    );
  }
  if (first !== undefined)
    parts.push(
      <span key="error">
        <span class="dim">first error</span>{' '}
        <ActionLink label={placeOf(model, first)} onClick={() => session.go(first)} />
      </span>,
    );
  if (end?.touched === true)
    parts.push(
      <span key="touched" class="mark" title="Edited while it ran, so it does not count in statistics">
        touched
      </span>,
    );
  if (fork !== undefined)
    parts.push(
      <span key="fork">
        <span class="dim">fork of</span>{' '}
        <ActionLink
          label={fork.rollout}
          onClick={() =>
            session.act({ do: 'open', place: { page: 'trajectory', rollout: fork.rollout, seq: fork.seq } })
          }
        />
      </span>,
    );
  if (!model.timed)
    parts.push(
      <span key="times" class="mark" title="No timings in this recording. The axis shows the order of events.">
        no timings
      </span>,
    );
  if (parts.length === 0 && end !== undefined)
    parts.push(
      <span key="unscored">
        <Glyph outcome="unscored" /> <span class="dim">ended without a score</span>
      </span>,
    );
  // Reserve the line while an ended rollout loads, so that the layout does not shift.
  if (parts.length === 0 && data.loading === 'loading' && data.info?.row.state === 'ended')
    return <div class="verdict">{'\u00a0'}</div>;
  return parts.length === 0 ? null : <div class="verdict">{parts}</div>;
}

function placeOf(model: TrajectoryModel, seq: number): string {
  return model.end?.seq === seq ? 'the end' : `step ${model.stepOf(seq)?.index ?? 0}`;
}
