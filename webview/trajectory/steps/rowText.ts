/** The texts of a row in the step list. */

import type { Json } from '../../../src/common/json.ts';
import { endsSentence, plural } from '../../../src/common/text.ts';
import { checkRows, checksOf } from '../../../src/trace/checkRows.ts';
import { changedArguments, isRepeat } from '../../../src/trace/cursor.ts';
import { isGivenReply, textOf } from '../../../src/trace/model/messages.ts';
import { askingCall } from '../../../src/trace/model/sideCalls.ts';
import type { ModelSpan, Span, ToolSpan } from '../../../src/trace/model/spans.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import { endOutcome, type Outcome } from '../../../src/trace/outcome.ts';
import { isPredictedOtherwise, predictionsOf } from '../../../src/trace/prediction/ofCall.ts';
import { partsText as shareTexts } from '../../../src/trace/prediction/text.ts';
import { PROVENANCE_TITLES, provenanceOf } from '../../../src/trace/provenance.ts';
import type { Check, EventData, Origin } from '../../../src/trace/schema.ts';
import { errorLabel, holdLabel, sideLabel } from '../../../src/trace/text/labels.ts';
import { inline, partsText, valueText } from '../../../src/trace/text/values.ts';
import { troubleOf } from '../../../src/trace/trouble.ts';
import { TROUBLES } from '../../components/marks/glyphShapes.ts';
import type { IconName } from '../../components/marks/icon.tsx';
import { ansiSpans } from '../../text/ansiSpans.ts';
import { sideIcon } from '../sides.ts';
import { scoreMark, worldFaultMarks, worldMarks } from './callMarks.ts';
import { type Row, StepRows } from './rows.ts';

export interface RowText {
  readonly icon: IconName;
  /** Replaces the icon after the end. */
  readonly outcome?: Outcome;
  /** In the monospace font: the tool, the model, or the kind. */
  readonly name: string;
  readonly text: string;
  /** The result, shown after `→`. */
  readonly result?: string;
  readonly marks: readonly {
    readonly text: string;
    readonly title: string;
    readonly kind: 'world' | 'changed' | 'plain';
  }[];
  readonly ms?: number | undefined;
  readonly open?: boolean;
  /** The agent, if there are several. */
  readonly agent?: { readonly name: string; readonly path: string };
  /** Usage of the step's model call. */
  readonly tokens?: { readonly input: number; readonly output: number };
}

/** Maximum length of a text. */
const CHARS = 240;
/** Tooltips of messages that are not part of the task. */
/** The title of the mark at a reply that the task contains. */
export const GIVEN_REPLY = 'Part of the task: no model wrote it here';
const ORIGINS: Readonly<Record<Origin, string>> = {
  given: 'Input of the agent',
  sampled: 'Written by the model',
  tool: 'Result of a tool',
  compacted: 'Summary of earlier messages',
  edited: 'Changed by an edit',
};
/** Words for the outcome of an end. */
export const OUTCOME_WORDS: Partial<Readonly<Record<Outcome, string>>> = {
  passed: 'passed',
  failed: 'failed',
  truncated: 'cut off',
  cancelled: 'cancelled',
  unscored: 'not scored',
  infrastructure: 'infrastructure failure',
};
const ROLE_ICONS = { system: 'gear', user: 'person', assistant: 'comment', tool: 'tools' } as const;

export function rowText(model: TrajectoryModel, row: Row, liveText: (span: number) => string | undefined): RowText {
  const text = eventText(model, row, liveText);
  if (row.kind !== 'step' && row.kind !== 'side') return text;
  const span = model.span(row.seq);
  if (span?.kind !== 'model') return text;
  const usage = span.end?.data.usage;
  return {
    ...text,
    ...(usage === undefined ? {} : { tokens: { input: usage.input_tokens, output: usage.output_tokens } }),
    ...(row.kind === 'step' && isNamed(model, span.agent)
      ? { agent: { name: span.agent.split('/').at(-1) ?? span.agent, path: span.agent } }
      : {}),
  };
}

function eventText(model: TrajectoryModel, row: Row, liveText: (span: number) => string | undefined): RowText {
  const seq = StepRows.cursorOf(row);
  const span = model.span(seq);
  if (span?.kind === 'tool') return callText(model, span, row.call !== undefined);
  const event = model.event(row.seq);
  if (event === undefined) return plain('question', '', '');
  if ('unknown' in event) return plain('question', event.kind, inline(event.data as Json));
  switch (event.kind) {
    case 'message':
      return plain(
        ROLE_ICONS[event.data.role],
        event.data.role,
        partsText(event.data.parts),
        event.data.origin === 'given' && !isGivenReply(event.data)
          ? []
          : [
              {
                text: event.data.origin,
                title: isGivenReply(event.data) ? GIVEN_REPLY : ORIGINS[event.data.origin],
                kind: 'plain',
              },
            ],
      );
    case 'model.start':
      return modelText(model, row, liveText);
    case 'agent.start': {
      const end = span?.kind === 'agent' ? span.end?.data : undefined;
      return {
        ...plain('hubot', event.agent ?? 'agent', event.data.how),
        ...trouble(span),
        ms: end?.ms,
        open: end === undefined,
      };
    }
    case 'world.open':
      return {
        ...plain(
          'database',
          event.data.world,
          (event.data.kind === 'module' ? 'TypeScript world' : `${event.data.kind} world`) +
            (event.data.scenario === undefined ? '' : `, scenario ${event.data.scenario}`),
        ),
        ...trouble(span),
        ms: span?.kind === 'world' ? span.end?.data.ms : undefined,
      };
    case 'world.diff':
      return plain('database', 'world', `${plural(event.data.changes.length, 'row')} changed`);
    case 'edit':
      return plain('edit', 'edit', `${event.data.path} = ${inline(event.data.value)}`);
    case 'hold': {
      const release = model.hold(event.seq)?.release;
      return {
        ...plain('debug-pause', 'hold', `${holdLabel(event.data.why)}, ${event.data.side} the call`),
        ...(release === undefined ? { outcome: 'held' as const } : {}),
        ms: release?.data.held_ms,
      };
    }
    case 'log':
      return plain(
        'output',
        event.data.stream,
        typeof event.data.text === 'string' ? event.data.text : event.data.text.head,
      );
    case 'score':
      return row.check === undefined ? scoreText(event.data) : checkRowText(checksOf(event.data), row.check);
    case 'rollout.lease':
      return plain('server', event.data.how, `by ${event.data.worker}`);
    case 'rollout.handover':
      return plain('server', 'handed over', `by ${event.data.worker}`);
    case 'rollout.end':
      return endText(model);
    default:
      return plain('question', event.kind, inline(event.data as Json));
  }
}

/** Returns whether rows show this agent: if there are several, all except the root agent. */
function isNamed(model: TrajectoryModel, agent: string): boolean {
  const others = model.agents.filter(
    (other) => other.path !== agent && other.side === undefined && other.modelStarts.length > 0,
  );
  return agent !== '' && others.length > 0 && !others.every((other) => other.path.startsWith(`${agent}/`));
}

function modelText(model: TrajectoryModel, row: Row, liveText: (span: number) => string | undefined): RowText {
  const span = model.span(row.seq);
  if (span?.kind !== 'model') return plain('comment', 'model', '');
  const end = span.end?.data;
  const { side } = span.start.data;
  if (side !== undefined) return sideText(model, span, side, liveText);
  const step = model.step(span.step);
  const calls = step?.tools ?? [];
  if (end === undefined) return { ...plain('comment', '', liveText(span.seq) ?? ''), outcome: 'running', open: true };
  if (end.error !== undefined)
    return { ...plain('comment', errorLabel(end.error.class), end.error.message), ...trouble(span), ms: end.ms };
  const entry = end.m === undefined ? undefined : model.currentMessage(end.m);
  const parts = entry?.event.data.parts ?? [];
  const text = textOf(parts) || textOf(parts, 'reasoning');
  if (calls.length > 1) return { ...plain('layers', `${calls.length} calls`, text), ms: end.ms };
  return { ...plain('comment', '', text), ms: end.ms };
}

/** A side model's call, folded: its prompt is in the pane. */
function sideText(
  model: TrajectoryModel,
  span: ModelSpan,
  side: string,
  liveText: (span: number) => string | undefined,
): RowText {
  const end = span.end?.data;
  const call = askingCall(model, span.start);
  const isOneOfSeveral = call !== undefined && (model.step(call.step)?.tools.length ?? 0) > 1;
  const name = isOneOfSeveral ? `${sideLabel(side)} in ${call.start.data.name}` : sideLabel(side);
  if (end === undefined)
    return { ...plain(sideIcon(side), name, liveText(span.seq) ?? ''), outcome: 'running', open: true };
  if (end.error !== undefined)
    return { ...plain(sideIcon(side), name, end.error.message), ...trouble(span), ms: end.ms };
  const reply = end.m === undefined ? undefined : model.currentMessage(end.m)?.event.data;
  // What a simulated user says is the next message.
  const text = reply?.side === undefined ? (span.start.data.model ?? '') : textOf(reply.parts);
  return { ...plain(sideIcon(side), name, text), ms: end.ms };
}

/** Marks a call that a world predicted otherwise. */
function predictionMarks(model: TrajectoryModel, span: ToolSpan): RowText['marks'] {
  const wrong = predictionsOf(model, span.seq).filter(({ data }) => isPredictedOtherwise(data));
  return wrong.length === 0
    ? []
    : [
        {
          text: '≠ predicted',
          title: wrong
            .map(({ data }) => `${data.prediction?.world ?? ''} predicted otherwise: ${shareTexts(data.parts ?? {})}`)
            .join('. '),
          kind: 'changed',
        },
      ];
}

/** Says where the result comes from. A rule's own mark names it. */
function provenanceMarks(model: TrajectoryModel, span: ToolSpan): RowText['marks'] {
  return provenanceOf(model, span)
    .filter((from) => from !== 'injected')
    .map((from) => ({ text: from, title: `Result: ${PROVENANCE_TITLES[from]}`, kind: 'plain' }));
}

function callText(model: TrajectoryModel, span: ToolSpan, withModel: boolean): RowText {
  const { data } = span.start;
  const end = span.end?.data;
  const changes = model.diffsOf(span.seq).reduce((sum, diff) => sum + diff.data.changes.length, 0);
  const changed = changedArguments(model, span);
  const injected = end?.injected;
  const marks: RowText['marks'][number][] = [
    ...(injected === undefined
      ? []
      : [
          {
            text: injected,
            title:
              end?.made === false
                ? `Fault by the rule ${injected}: the tool was never called`
                : `Fault by the rule ${injected}`,
            kind: 'plain' as const,
          },
        ]),
    ...(isRepeat(model, span)
      ? [{ text: 'repeat', title: 'Same as the previous call of this tool', kind: 'changed' as const }]
      : []),
    ...(changed.length > 0
      ? [
          {
            text: `≠ ${changed.join(', ')}`,
            title: `Differs from the previous call of this tool in ${changed.join(', ')}`,
            kind: 'changed' as const,
          },
        ]
      : []),
    ...predictionMarks(model, span),
    ...provenanceMarks(model, span),
    ...model.scoresOf(span.seq).flatMap(({ data }) => scoreMark(data)),
    ...(changes > 0
      ? [
          {
            text: `◆ ${changes} ${changes === 1 ? 'row' : 'rows'}`,
            title: 'Rows of the world that the call changed',
            kind: 'world' as const,
          },
        ]
      : []),
    ...worldMarks(model, span),
    ...worldFaultMarks(model, span),
  ];
  const modelMs = withModel ? (model.step(span.step)?.model?.end?.data.ms ?? 0) : 0;
  const result =
    end?.status === 'cut'
      ? 'repeated in the fork'
      : end?.error !== undefined
        ? end.error.message
        : shortResult(model, span);
  return {
    icon: 'tools',
    ...(end === undefined
      ? {
          outcome: model.holdsAt().some((hold) => hold.event.span === span.seq)
            ? ('held' as const)
            : ('running' as const),
        }
      : troubleOf(span) !== undefined
        ? trouble(span)
        : withModel || end.status === 'cut'
          ? {}
          : { outcome: 'passed' as const }),
    name: data.name,
    text: argumentsText(model.argumentsOf(span).value),
    ...(result === undefined ? {} : { result }),
    marks,
    ms: end?.ms === undefined && modelMs === 0 ? undefined : (end?.ms ?? 0) + modelMs,
    open: end === undefined,
  };
}

/** Returns the outcome for a trouble; nothing if there is none. */
function trouble(span: Span | undefined): Pick<RowText, 'outcome'> {
  const of = troubleOf(span);
  return of === undefined ? {} : { outcome: TROUBLES[of] };
}

function shortResult(model: TrajectoryModel, span: ToolSpan): string | undefined {
  const result = model.resultOf(span);
  return result === undefined ? undefined : cut(valueText(result.value));
}

/** Returns `loan_id: 17, days: 14`. */
function argumentsText(value: Json): string {
  const text = inline(value);
  return cut(text.startsWith('{') && text.endsWith('}') ? text.slice(1, -1) : text);
}

function scoreText({ value, passed, explanation, checks, parts }: EventData['score']): RowText {
  const all = checksOf({ checks, parts });
  const texts = [
    value === null ? 'cannot be scored' : String(value),
    all.length > 0 ? `${all.filter((check) => check.passed).length} of ${all.length} checks passed` : explanation,
  ];
  return {
    ...plain('beaker', 'score', texts.filter((text) => text !== undefined).join(' · ')),
    outcome: passed === true ? 'passed' : passed === false ? 'failed' : 'unscored',
  };
}

/** Returns the text of a check: the columns that are wrong, or the actual value and the expected one. */
function checkRowText(checks: readonly Check[], index: number): RowText {
  const rows = checkRows(checks).filter(({ check }) => check === index);
  const [first] = rows;
  const wrong = rows.filter(({ passed }) => passed === false);
  const text =
    first?.field !== undefined
      ? (wrong.length > 0 ? wrong : rows).map(({ field }) => field).join(', ')
      : wrong.length > 0 && first?.expected !== undefined
        ? mismatchText(first.actual ?? 'missing', first.expected)
        : (first?.actual ?? '');
  return {
    ...plain('beaker', first?.name ?? 'check', text),
    outcome: checks[index]?.passed === true ? 'passed' : 'failed',
  };
}

/** The values are in quotes if the text could not go on after the actual one, because it ends a sentence. */
function mismatchText(actual: string, expected: string): string {
  return endsSentence(actual) ? `“${actual}”, expected “${expected}”` : `${actual}, expected ${expected}`;
}

function endText(model: TrajectoryModel): RowText {
  const end = model.end?.data;
  if (end === undefined) return plain('circle-filled', 'end', '');
  const outcome = endOutcome(end);
  return {
    ...plain(
      'circle-filled',
      'end',
      end.error === undefined
        ? [
            OUTCOME_WORDS[outcome],
            end.reward === null ? undefined : `reward ${end.reward}`,
            end.answer === null ? undefined : valueText(end.answer),
          ]
            .filter((text) => text !== undefined)
            .join(' · ')
        : `${errorLabel(end.error.class)}: ${end.error.message}`,
    ),
    outcome,
    ms: end.totals.ms,
  };
}

function plain(icon: IconName, name: string, text: string, marks: RowText['marks'] = []): RowText {
  return { icon, name, text: cut(text), marks };
}

/** Returns the start of a text on one line, without terminal colors. */
function cut(text: string): string {
  const head = text.slice(0, CHARS * 2);
  const line = (
    head.includes('\u001b')
      ? ansiSpans(head)
          .map((span) => span.text)
          .join('')
      : head
  )
    .trimStart()
    .replaceAll(/\s+/g, ' ');
  return line.length > CHARS ? `${line.slice(0, CHARS)}…` : line;
}
