/** Writes events as lines of a page. */

import { nounFor } from '../../common/text.ts';
import { compact, duration } from '../../common/units.ts';
import { casesOf, caseText } from '../control/rateText.ts';
import { worldChecksOf } from '../control/worldChecks.ts';
import { askingCall } from '../model/sideCalls.ts';
import type { ToolSpan } from '../model/spans.ts';
import type { AnyEvent, TrajectoryModel } from '../model.ts';
import { callDifference } from '../prediction/callDifference.ts';
import { isPredictedOtherwise, otherScoresOf, predictionsOf } from '../prediction/ofCall.ts';
import { placeLines, partsText as sharesText } from '../prediction/text.ts';
import type { EventOf, TraceEvent } from '../schema.ts';
import { WORLD_OUTCOME_NAMES } from '../worldOutcomes.ts';
import { sideLabel, worldLabel } from './labels.ts';
import type { Page } from './page.ts';
import { scoreText } from './score.ts';
import { changeText, errorText, inline, partsText, placeText, valueText } from './values.ts';

/** How much of long values to show; everything by default. */
export interface Detail {
  readonly full: boolean;
  /** Maximum lines of a text, of a call's arguments or result, and of output. */
  readonly text?: number;
  readonly value?: number;
  readonly log?: number;
  /** Whether steps say which agent they belong to. A full one does. */
  readonly named?: boolean;
}

export const OVERVIEW: Detail = { full: false, text: 8, value: 4, log: 3 };
export const WHOLE: Detail = { full: true };

/**
 * Writes one event. The result of a tool is written at the start of its call, so that parallel calls stay readable. If
 * other lines belong inside the call, the result is written at its end.
 */
export function writeEvent(page: Page, model: TrajectoryModel, event: AnyEvent, detail: Detail): void {
  if ('unknown' in event) {
    page.line('?', `${event.kind} ${JSON.stringify(event.data)}`, { maxLines: detail.value, style: 'dim' });
    return;
  }
  switch (event.kind) {
    case 'message':
      writeMessage(page, model, event, detail);
      return;
    case 'model.start':
      writeSideCall(page, model, event);
      return;
    case 'model.end':
      writeModelEnd(page, event, detail);
      return;
    case 'tool.start': {
      const span = model.span(event.seq);
      if (span?.kind !== 'tool') return;
      writeCall(page, model, span, detail);
      if (!isEventful(model, span)) writeOutcome(page, model, span, detail);
      return;
    }
    case 'tool.end': {
      const span = event.span === undefined ? undefined : model.span(event.span);
      if (span?.kind === 'tool' && span.end === event && isEventful(model, span))
        writeOutcome(page, model, span, detail);
      return;
    }
    case 'world.diff':
      if (!isOfTool(model, event)) writeChanges(page, event, detail);
      return;
    case 'log':
      page.line(event.data.stream === 'err' ? 'stderr' : 'stdout', valueText(event.data.text), {
        maxLines: detail.log,
        style: 'dim',
      });
      return;
    default:
      writeOther(page, model, event, detail);
  }
}

function writeMessage(page: Page, model: TrajectoryModel, event: EventOf<'message'>, detail: Detail): void {
  const { role, origin, parts, from, to, topic, side, m } = event.data;
  if (role === 'tool' && isOfTool(model, event)) return;
  // The prompt of a side model is part of its call, which only the full text unfolds.
  if (side !== undefined && from === undefined && !detail.full) return;
  const label =
    origin === 'sampled' || (side !== undefined && from !== undefined)
      ? 'says'
      : origin === 'compacted'
        ? 'summary'
        : origin === 'edited'
          ? 'edited'
          : role;
  const route =
    from === undefined && to === undefined
      ? undefined
      : `${from ?? ''} → ${to ?? ''}${topic === undefined ? '' : ` · ${topic}`}`.trim();
  for (const part of parts) {
    if (part.type === 'reasoning')
      page.line('thinks', valueText(part.content), { maxLines: detail.text, style: 'dim' });
  }
  const text = partsText(parts);
  const calls = parts.filter((part) => part.type === 'tool_call');
  if (text !== '' || calls.length === 0)
    page.line(label, text === '' ? '(empty)' : text, {
      maxLines: detail.text,
      note: route,
      labelStyle: LABELS[role],
    });
  for (const call of calls) {
    // Calls that were made are written at their start.
    if (model.call(call.id) === undefined)
      page.line('→', `${call.name} ${valueText(call.arguments)}`, { maxLines: detail.value, note: 'not called' });
  }
  if (model.message(m)?.editedBy !== undefined) page.line('', 'replaced by an edit', { style: 'yellow' });
}

const LABELS = { system: 'magenta', user: 'blue', assistant: 'cyan', tool: 'dim' } as const;

/** Writes a line for a side model's call. The model call of a step is its heading. */
function writeSideCall(page: Page, model: TrajectoryModel, event: EventOf<'model.start'>): void {
  const { side, model: name } = event.data;
  if (side === undefined) return;
  const span = model.span(event.seq);
  const end = span?.kind === 'model' ? span.end?.data : undefined;
  const call = askingCall(model, event);
  const facts = [
    name,
    call === undefined ? undefined : `in ${call.start.data.name}`,
    end?.source === 'recorded' ? 'recorded' : undefined,
    end === undefined ? (model.end === undefined ? 'running' : 'no response') : undefined,
    end?.ms === undefined ? undefined : duration(end.ms),
    end?.usage === undefined
      ? undefined
      : `${compact(end.usage.input_tokens)} in, ${compact(end.usage.output_tokens)} out`,
  ].filter((fact) => fact !== undefined);
  page.line('side', sideLabel(side), { labelStyle: 'dim', note: facts.join(', ') || undefined });
}

function writeModelEnd(page: Page, event: EventOf<'model.end'>, detail: Detail): void {
  const { error, retries, finish_reason: finish, why_not: whyNot } = event.data;
  if (retries !== undefined && retries.length > 0) {
    page.line('', `retried ${retries.length}×: ${retries.map((retry) => retry.class).join(', ')}`, {
      style: 'dim',
    });
  }
  if (error !== undefined)
    page.line('✗', errorText(error), {
      style: 'red',
      labelStyle: 'red',
      note: placeText(error),
      maxLines: detail.text,
    });
  if (finish !== undefined && finish !== 'stop' && finish !== 'tool_calls')
    page.line('', `the model stopped: ${finish}`, { style: 'yellow' });
  if (detail.full && whyNot !== undefined) page.line('', `not usable for training: ${whyNot}`, { style: 'dim' });
}

function writeCall(page: Page, model: TrajectoryModel, span: ToolSpan, detail: Detail): void {
  const { name, raw } = span.start.data;
  const input = model.argumentsOf(span);
  const text = raw ?? valueText(input.value, detail.full);
  page.line('→', `${name} ${text}`, {
    maxLines: detail.value,
    labelStyle: 'cyan',
    note: input.edited ? 'edited' : undefined,
  });
}

/** Returns whether an agent ran, or the call was held, between its start and end. */
function isEventful(model: TrajectoryModel, span: ToolSpan): boolean {
  const { end } = span;
  if (end === undefined) return false;
  return (
    model.editsOf(span.seq).length > 0 ||
    model.children(span.seq).some((seq) => model.event(seq)?.kind === 'agent.start') ||
    model.holdsOf(span.seq).some((hold) => hold.seq < end.seq)
  );
}

function writeOutcome(page: Page, model: TrajectoryModel, span: ToolSpan, detail: Detail): void {
  const { end } = span;
  if (end === undefined) {
    page.line('…', model.end === undefined ? 'running' : 'no response', { style: 'yellow' });
  } else {
    writeToolEnd(page, model, span, end, detail);
  }
  for (const diff of model.diffsOf(span.seq)) writeChanges(page, diff, detail);
  for (const prediction of predictionsOf(model, span.seq)) writePrediction(page, model, span, prediction, detail);
  for (const score of otherScoresOf(model, span.seq)) writeScore(page, score, detail);
  for (const one of casesOf(worldChecksOf(model), span.seq))
    page.line('world', caseText(one), { labelStyle: one.held ? 'green' : 'red' });
}

function writeToolEnd(
  page: Page,
  model: TrajectoryModel,
  span: ToolSpan,
  end: EventOf<'tool.end'>,
  detail: Detail,
): void {
  const { status, error, ms, source, recorded, injected, made, cut, retries } = end.data;
  const result = model.resultOf(span);
  const note = [
    ms === undefined ? undefined : duration(ms),
    source === 'live' || source === 'imported' ? undefined : source,
    recorded === undefined ? undefined : `of ${recorded.rollout}@${recorded.seq}`,
    retries === undefined
      ? undefined
      : `retried ${retries.length}× after ${retries.map((retry) => retry.class).join(', ')}`,
    injected === undefined ? undefined : `${made === false ? 'not made, ' : ''}injected by ${injected}`,
    cut === undefined ? undefined : `${cut} bytes cut`,
    result?.edited === true ? 'edited' : undefined,
    isEventful(model, span) ? `of ${span.start.data.name}` : undefined,
  ]
    .filter((part) => part !== undefined)
    .join(', ');
  const answer = result === undefined ? undefined : valueText(result.value, detail.full);
  if (error !== undefined) {
    const place = placeText(error);
    page.line('✗', errorText(error), {
      maxLines: detail.value,
      style: 'red',
      labelStyle: 'red',
      note: [note, place].filter(Boolean).join(' · ') || undefined,
    });
    if (detail.full && error.stack !== undefined) page.line('', error.stack, { style: 'dim' });
    // The model got a text other than the error message.
    if (answer !== undefined && !answer.includes(error.message)) page.line('←', answer, { maxLines: detail.value });
    return;
  }
  if (status === 'cut') {
    page.line('✂', 'open at the fork point, so the fork repeats it', { style: 'dim' });
    return;
  }
  page.line(status === 'ok' ? '←' : '✗', answer ?? '(nothing recorded)', {
    maxLines: detail.value,
    note: note === '' ? undefined : note,
  });
  if (end.data.real !== undefined)
    page.line('real', valueText(end.data.real, detail.full), { maxLines: detail.value, labelStyle: 'yellow' });
  const seen = model.seenOf(span);
  if (seen !== undefined)
    page.line('seen', valueText(seen, detail.full), { maxLines: detail.value, labelStyle: 'yellow' });
}

function writeChanges(page: Page, event: EventOf<'world.diff'>, detail: Detail): void {
  const max = detail.full ? Infinity : 5;
  for (const change of event.data.changes.slice(0, max))
    page.line('world', changeText(change), { maxLines: detail.value, labelStyle: 'yellow' });
  const more = event.data.changes.length - max;
  if (more > 0) page.line('', `… ${more} more ${nounFor(more, 'change')}`, { style: 'dim' });
}

function writeOther(page: Page, model: TrajectoryModel, event: TraceEvent, detail: Detail): void {
  switch (event.kind) {
    case 'rollout.start':
      if (event.data.fork !== undefined)
        page.line('fork', `of ${event.data.fork.rollout}, after its event ${event.data.fork.seq}`, {
          labelStyle: 'yellow',
        });
      if (event.data.rescores !== undefined)
        page.line('rescores', `${event.data.rescores.rollout}, which ends with event ${event.data.rescores.seq}`, {
          labelStyle: 'yellow',
        });
      return;
    case 'rollout.lease':
      if (detail.full || event.data.how !== 'fresh')
        page.line('lease', `${event.data.how} by ${event.data.worker}, epoch ${event.data.epoch}`, { style: 'dim' });
      return;
    case 'rollout.handover':
      page.line('lease', `handed over by ${event.data.worker}`, { style: 'dim' });
      return;
    case 'agent.start':
      page.line('▸', `${event.agent ?? 'an agent'} starts (${event.data.how})`, { labelStyle: 'cyan' });
      return;
    case 'agent.end':
      page.line(
        '◂',
        `${event.agent ?? 'an agent'} ends${event.data.error === undefined ? '' : `: ${errorText(event.data.error)}`}`,
        { labelStyle: 'cyan', note: event.data.ms === undefined ? undefined : duration(event.data.ms) },
      );
      return;
    case 'world.open':
      page.line('world', `${worldLabel(event.data)} opened`, { style: 'dim' });
      return;
    case 'world.close':
      if (event.data.error !== undefined)
        page.line('world', errorText(event.data.error), { style: 'red', note: placeText(event.data.error) });
      return;
    case 'score':
      if (!isOfTool(model, event)) writeScore(page, event, detail);
      return;
    case 'hold': {
      const hold = model.hold(event.seq);
      const held =
        hold?.release === undefined
          ? 'still held'
          : `${duration(hold.release.data.held_ms)}, then ` +
            `${hold.release.data.how}${hold.release.data.by === undefined ? '' : ` by ${hold.release.data.by}`}`;
      page.line(
        'held',
        `${event.data.side} the call: ` +
          `${event.data.why}${event.data.breakpoint === undefined ? '' : ` ${event.data.breakpoint}`}` +
          (event.data.by === undefined ? '' : ` by ${event.data.by}`),
        { labelStyle: 'yellow', note: held },
      );
      return;
    }
    case 'edit': {
      const { of, path, value, by } = event.data;
      page.line(
        'edit',
        `${of.m === undefined ? `event ${of.seq ?? '?'}` : `message ${of.m}`} ${path} = ${inline(value)}`,
        { maxLines: detail.value, labelStyle: 'yellow', note: by === undefined ? undefined : `by ${by}` },
      );
      return;
    }
    default: // other ends are written with their starts; other events are not for people
  }
}

/** Writes what a world predicted below the result; only its agreement if it was right. */
function writePrediction(
  page: Page,
  model: TrajectoryModel,
  span: ToolSpan,
  { data }: EventOf<'score'>,
  detail: Detail,
): void {
  const { prediction, parts = {}, error, explanation } = data;
  if (prediction === undefined) return;
  const { world, response } = prediction;
  const shares = sharesText(parts);
  const note = [`by ${world}`, ...(shares === '' ? [] : [shares])].join(', ');
  const label = { labelStyle: 'magenta' } as const;
  if (error !== undefined || response === undefined)
    page.line('predicted', error === undefined ? 'nothing' : `✗ ${errorText(error)}`, { ...label, note });
  else if (isPredictedOtherwise(data))
    page.line('predicted', valueText(response, detail.full), { ...label, note, maxLines: detail.value });
  else page.line('predicted', 'as it happened', { ...label, note });
  const difference = detail.full && response !== undefined ? callDifference(model, span, response) : undefined;
  for (const line of difference === undefined ? [] : placeLines(difference)) page.line('', line, { style: 'dim' });
  if (explanation !== undefined) page.line('', explanation, { maxLines: detail.text });
}

function writeScore(page: Page, event: EventOf<'score'>, detail: Detail): void {
  const { scorer, value, passed, outcome, parts, explanation, error } = event.data;
  const mark = passed === true ? '●' : passed === false ? '✗' : '?';
  const named = outcome === undefined ? '' : `, ${WORLD_OUTCOME_NAMES[outcome]},`;
  const figures =
    parts === undefined
      ? ''
      : ` (${Object.entries(parts)
          .map(([name, part]) => `${name} ${scoreText(part)}`)
          .join(', ')})`;
  page.line('score', `${mark} ${scoreText(value)}${named} by ${scorer}${figures}`, {
    labelStyle: passed === true ? 'green' : 'red',
  });
  if (explanation !== undefined) page.line('', explanation, { maxLines: detail.text });
  if (error !== undefined) page.line('', errorText(error), { style: 'red', note: placeText(error) });
}

/** Returns whether an event is written with its tool call: by its span, or because it is the call's message. */
function isOfTool(model: TrajectoryModel, event: TraceEvent): boolean {
  if (event.span !== undefined && model.span(event.span)?.kind === 'tool') return true;
  if (event.kind !== 'message') return false;
  return event.data.parts.some(
    (part) => part.type === 'tool_call_response' && model.call(part.id)?.end?.data.m === event.data.m,
  );
}
