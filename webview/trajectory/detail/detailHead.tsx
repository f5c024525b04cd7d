/** The head of the details: the selection, its outcome, and navigation to other calls of the same tool. */

import { duration } from '../../../src/common/units.ts';
import { callNumber, callsOf, nextCall, previousCall } from '../../../src/trace/calls.ts';
import { checksOf } from '../../../src/trace/checkRows.ts';
import type { AnyEvent, TrajectoryModel } from '../../../src/trace/model.ts';
import { endOutcome, type Outcome } from '../../../src/trace/outcome.ts';
import { PROVENANCE_TITLES } from '../../../src/trace/provenance.ts';
import type { Effect, EventOf, TraceError } from '../../../src/trace/schema.ts';
import { errorLabel, sideLabel } from '../../../src/trace/text/labels.ts';
import { troubleIn } from '../../../src/trace/trouble.ts';
import { Button } from '../../components/controls.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import { TROUBLES } from '../../components/marks/glyphShapes.ts';
import { checkOrder } from '../redMarks.ts';
import { OUTCOME_WORDS } from '../steps/rowText.ts';
import type { TrajectoryView } from '../view.ts';
import { eventTitle, SOURCES } from './parts/fieldLabels.ts';
import type { Subject } from './subject.ts';

export function DetailHead({ view, subject }: { readonly view: TrajectoryView; readonly subject: Subject }) {
  const { model } = view.data;
  const { name, place, outcome, words, ms, marks } = headOf(model, subject);
  return (
    <header class="detail-head">
      <h2 title={name}>{name}</h2>
      {place !== '' && <span class="dim">{place}</span>}
      {outcome !== undefined && (
        <span class="detail-outcome">
          <Glyph outcome={outcome} /> {words}
        </span>
      )}
      {ms !== undefined && <span>{duration(ms)}</span>}
      {marks.map((mark) => (
        <span key={mark.text} class="mark" title={mark.title}>
          {mark.text}
        </span>
      ))}
      <span class="grow" />
      {subject.kind === 'tool' && <OtherCalls view={view} subject={subject} />}
    </header>
  );
}

function OtherCalls({
  view,
  subject,
}: {
  readonly view: TrajectoryView;
  readonly subject: Extract<Subject, { kind: 'tool' }>;
}) {
  const { model } = view.data;
  const { name } = subject.span.start.data;
  const count = callsOf(model, name).length;
  if (count < 2 || model.skipped !== undefined) return null; // The other calls are still loading.
  const before = previousCall(model, subject.span);
  const after = nextCall(model, subject.span);
  return (
    <span class="other-calls">
      <Button
        kind="icon"
        icon="chevron-left"
        label={`Previous call of ${name}`}
        disabled={before === undefined}
        onClick={() => {
          if (before !== undefined) view.go(before.seq);
        }}
      />
      <span class="dim" title={`Call ${callNumber(model, subject.span)} of ${count} of ${name}`}>
        {callNumber(model, subject.span)}/{count}
      </span>
      <Button
        kind="icon"
        icon="chevron-right"
        label={`Next call of ${name}`}
        disabled={after === undefined}
        onClick={() => {
          if (after !== undefined) view.go(after.seq);
        }}
      />
    </span>
  );
}

interface Mark {
  readonly text: string;
  readonly title?: string;
}

interface Head {
  readonly name: string;
  readonly place: string;
  readonly outcome?: Outcome;
  readonly words?: string;
  readonly ms?: number | undefined;
  readonly marks: readonly Mark[];
}

const EDITED: Mark = { text: 'edited', title: 'Changed by an edit' };

const INJECTED: Mark = { text: 'injected', title: PROVENANCE_TITLES.injected };

const EFFECTS: Readonly<Record<Effect, Mark>> = {
  pure: { text: 'pure', title: 'The tool changes nothing' },
  restorable: { text: 'restorable', title: 'The tool changes only the world, which can be restored' },
  irreversible: { text: 'irreversible', title: 'The tool changes more than the world, which cannot be undone' },
};

const AGENT_STARTS: Readonly<Record<EventOf<'agent.start'>['data']['how'], Mark>> = {
  team: { text: 'team', title: 'Called by the leader of its team' },
  handoff: { text: 'handoff', title: 'Started by a handoff' },
  parallel: { text: 'parallel', title: 'Runs in parallel with other agents' },
  loop: { text: 'loop', title: 'An iteration of a loop' },
};

function headOf(model: TrajectoryModel, subject: Subject): Head {
  const step = subject.step === undefined || subject.step.index === 0 ? '' : `step ${subject.step.index}`;
  switch (subject.kind) {
    case 'tool': {
      const { span } = subject;
      const siblings = subject.step?.tools ?? [];
      const place = siblings.length < 2 ? step : `${step}, call ${siblings.indexOf(span) + 1} of ${siblings.length}`;
      const edited = model.argumentsOf(span).edited;
      return {
        name: span.start.data.name,
        place,
        ...(heldAt(model, span.seq) ?? ending(span.end?.data)),
        ms: span.end?.data.ms,
        marks: [
          EFFECTS[span.start.data.effect],
          ...sourceMark(span.end?.data.source),
          ...(span.end?.data.injected === undefined ? [] : [INJECTED]),
          ...(edited ? [EDITED] : []),
        ],
      };
    }
    case 'model':
      return {
        name:
          subject.span.start.data.side === undefined
            ? (subject.span.start.data.model ?? 'model')
            : sideLabel(subject.span.start.data.side),
        place: step,
        ...(heldAt(model, subject.span.seq) ?? ending(subject.span.end?.data)),
        ms: subject.span.end?.data.ms,
        marks: sourceMark(subject.span.end?.data.source),
      };
    case 'agent':
      return {
        name: subject.span.agent,
        place: step,
        ...ending(subject.span.end?.data),
        ms: subject.span.end?.data.ms,
        marks: [AGENT_STARTS[subject.span.start.data.how]],
      };
    case 'world': {
      const { world, kind } = subject.span.start.data;
      return {
        name: world,
        place: 'world',
        ms: subject.span.end?.data.ms,
        marks: [{ text: kind === 'module' ? 'TypeScript' : kind, title: 'Kind of world' }],
      };
    }
    case 'message':
      return {
        name: `${subject.entry.event.data.role} message`,
        place: `${step === '' ? '' : `${step}, `}message ${subject.entry.m}`,
        marks: subject.entry.event.data.origin === 'edited' ? [EDITED] : [],
      };
    case 'score':
      return scoreHead(subject);
    case 'event':
      return {
        name: eventTitle(subject.event.kind),
        place: `event ${subject.event.seq}`,
        ...endHead(subject.event),
        marks: [],
      };
  }
}

function endHead(event: AnyEvent): Pick<Head, 'outcome' | 'words' | 'ms'> {
  if ('unknown' in event || event.kind !== 'rollout.end') return {};
  const outcome = endOutcome(event.data);
  return { outcome, words: OUTCOME_WORDS[outcome] ?? outcome, ms: event.data.totals.ms };
}

function scoreHead({ event, check: index }: Extract<Subject, { kind: 'score' }>): Head {
  const checks = checksOf(event.data);
  const check = index === undefined ? undefined : checks[index];
  const passed = check === undefined ? event.data.passed : check.passed;
  return {
    name: check?.name ?? 'score',
    place: index === undefined ? '' : `check ${checkOrder(checks).indexOf(index) + 1} of ${checks.length}`,
    outcome: passed === true ? 'passed' : passed === false ? 'failed' : 'unscored',
    words: passed === true ? 'passed' : passed === false ? 'failed' : 'not scored',
    marks: [],
  };
}

/** Returns the current hold of a call. */
function heldAt(model: TrajectoryModel, span: number): Pick<Head, 'outcome' | 'words'> | undefined {
  const hold = model.holdsAt().find((open) => open.event.span === span);
  return hold === undefined ? undefined : { outcome: 'held', words: `paused ${hold.event.data.side} the call` };
}

function ending(
  end: { readonly status: 'ok' | 'error' | 'cut'; readonly error?: TraceError | undefined } | undefined,
): Pick<Head, 'outcome' | 'words'> {
  if (end === undefined) return { outcome: 'running', words: 'running' };
  if (end.status === 'cut') return { outcome: 'running', words: 'repeated in the fork' };
  if (end.status === 'ok') return { outcome: 'passed', words: 'ok' };
  const trouble = end.error === undefined ? 'error' : troubleIn(end.error);
  return {
    outcome: TROUBLES[trouble],
    words: trouble === 'interrupted' ? trouble : errorLabel(end.error?.class ?? 'error'),
  };
}

function sourceMark(source: string | undefined): Mark[] {
  return source === undefined || source === 'live'
    ? []
    : [{ text: source, title: `Source of the result: ${SOURCES[source] ?? source}` }];
}
