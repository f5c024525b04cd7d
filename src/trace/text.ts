/**
 * Formats trajectories as text for a terminal: the whole trajectory with long values shortened, or one step in full.
 * Pure. Output of tools and models cannot move the cursor or change colors.
 */
import { StudioError } from '../common/errors.ts';
import { oneLine, plural } from '../common/text.ts';
import { compact, duration } from '../common/units.ts';
import type { Step } from './model/step.ts';
import type { TrajectoryModel } from './model.ts';
import { type Detail, OVERVIEW, WHOLE, writeEvent } from './text/events.ts';
import { type Header, headerOf, writeHeader } from './text/header.ts';
import { WAITED_FOR } from './text/labels.ts';
import { Page, type PageOptions } from './text/page.ts';
import { inline, sideUsageText, valueText } from './text/values.ts';

interface TextOptions extends PageOptions {
  /** ID of the rollout, for the header. */
  readonly rollout?: string;
}

/** Returns the whole trajectory: a header, every step with its messages, calls, and changes, the score, the answer. */
export function trajectoryText(model: TrajectoryModel, options: TextOptions): string {
  const part = wholePart(model);
  return [headerPiece(part, options), ...partPieces(part, options, false)].map(({ text }) => text).join('');
}

interface TextPiece {
  readonly what: 'header' | 'step' | 'end';
  /** −1: the header; one after the last step: the end. */
  readonly step: number;
  readonly text: string;
}

/** Consecutive steps of a trajectory, `from` up to but without `to`, which are complete in the model. */
export interface TrajectoryPart {
  readonly model: TrajectoryModel;
  /** That of the whole trajectory. */
  readonly header: Header;
  readonly from: number;
  readonly to: number;
  /** Whether the trajectory ends with it. */
  readonly isLast: boolean;
  /** Whether the model has the whole trajectory. */
  readonly isWhole: boolean;
}

/** Returns a complete trajectory, from a step on, as one part. */
export function wholePart(model: TrajectoryModel, from = 0, header = headerOf(model)): TrajectoryPart {
  return { model, header, from, to: model.steps.length, isLast: true, isWhole: true };
}

/** Yields the trajectory piece by piece: the header, the steps of the parts, in `full` or shortened, and the end. */
export async function* trajectoryPieces(
  parts: AsyncIterable<TrajectoryPart> | Iterable<TrajectoryPart>,
  options: TextOptions,
  full = false,
): AsyncGenerator<TextPiece> {
  let isFirst = true;
  for await (const part of parts) {
    if (isFirst) yield headerPiece(part, options);
    isFirst = false;
    yield* partPieces(part, options, full);
  }
}

function headerPiece({ header }: TrajectoryPart, options: TextOptions): TextPiece {
  return { what: 'header', step: -1, text: textOf(options, (page) => writeHeader(page, header, options.rollout)) };
}

function* partPieces(part: TrajectoryPart, options: TextOptions, full: boolean): Generator<TextPiece> {
  const { model, from, to, isLast, isWhole } = part;
  // A part does not know whether there are other agents.
  const detail: Detail = {
    ...(full ? WHOLE : OVERVIEW),
    named: !isWhole || model.agents.filter(({ side }) => side === undefined).length > 1,
  };
  for (const step of model.steps.slice(from, to))
    yield { what: 'step', step: step.index, text: textOf(options, (page) => writeStep(page, model, step, detail)) };
  if (isLast && model.end !== undefined)
    yield { what: 'end', step: to, text: textOf(options, (page) => writeEnd(page, model)) };
}

function textOf(options: TextOptions, write: (page: Page) => void): string {
  const page = new Page(options);
  write(page);
  return page.text();
}

/**
 * Returns one step in full, including the input of its model call. `header`: what the model does not know if it is only
 * a part. Throws StudioError `not_found`.
 */
export function stepText(
  model: TrajectoryModel,
  index: number,
  options: TextOptions,
  header: Header = headerOf(model),
): string {
  const step = stepAt(model, index);
  const page = new Page(options);
  writeHeader(page, header, options.rollout);
  writeStep(page, model, step, WHOLE);
  return page.text();
}

/** Throws StudioError `not_found` if there is no such step. */
export function stepAt(model: TrajectoryModel, index: number): Step {
  const step = model.step(index);
  if (step !== undefined) return step;
  throw noStep(index, model.steps.length - 1);
}

/** Returns the error for a step that does not exist. `newest`: number of the newest step. */
export function noStep(index: number, newest: number): StudioError {
  return new StudioError('not_found', `This trajectory has no step ${index}.`, {
    hint: `It has steps 0 to ${newest}.`,
  });
}

function writeStep(page: Page, model: TrajectoryModel, step: Step, detail: Detail): void {
  page.heading(`step ${step.index}`, factsOf(model, step, detail));
  if (detail.full) writeRequest(page, step);
  for (const seq of step.seqs) {
    const event = model.event(seq);
    if (event !== undefined) writeEvent(page, model, event, detail);
  }
}

function factsOf(model: TrajectoryModel, step: Step, { full, named = false }: Detail): string[] {
  if (step.model === undefined) return ['before the first model call'];
  const end = step.model.end?.data;
  return [
    // The full text of a step may come from a part, which does not know whether there are other agents.
    (full || named) && step.agent !== '' ? step.agent : undefined,
    end === undefined ? (model.end === undefined ? 'waiting for the model' : 'no response') : undefined,
    end?.ms === undefined ? undefined : duration(end.ms),
    end?.queue_ms === undefined || end.queue_ms < 1 ? undefined : `${duration(end.queue_ms)} queued`,
    end?.paused_ms === undefined || end.paused_ms < 1
      ? undefined
      : `${duration(end.paused_ms)} paused${end.pause?.by === undefined ? '' : ` by ${oneLine(end.pause.by, 60)}`}`,
    end?.waited_ms === undefined || end.waited_ms < 1
      ? undefined
      : `${duration(end.waited_ms)} waiting${end.waited_for === undefined ? '' : ` (${WAITED_FOR[end.waited_for]})`}`,
    end?.usage === undefined
      ? undefined
      : `${compact(end.usage.input_tokens)} in, ${compact(end.usage.output_tokens)} out`,
    end === undefined || end.source === 'live' || end.source === 'imported' ? undefined : end.source,
  ].filter((fact) => fact !== undefined);
}

/** Writes the input of the model call. */
function writeRequest(page: Page, step: Step): void {
  if (step.model === undefined) return;
  const { model, endpoint, context, sampling } = step.model.start.data;
  const ranges = context.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(', ');
  const request = [model, endpoint === undefined ? undefined : `at ${endpoint}`]
    .filter((part) => part !== undefined)
    .join(' ');
  if (request !== '') page.line('model', request, { style: 'dim' });
  page.line('context', `messages ${ranges === '' ? 'none' : ranges}`, { style: 'dim' });
  if (Object.keys(sampling).length > 0) page.line('sampling', inline(sampling), { style: 'dim' });
}

function writeEnd(page: Page, model: TrajectoryModel): void {
  const { end } = model;
  if (end === undefined) return;
  page.heading('end', [end.data.status]);
  page.line('answer', end.data.answer === null ? '(none)' : valueText(end.data.answer), { labelStyle: 'cyan' });
  const { totals } = end.data;
  page.line(
    '',
    [
      plural(totals.steps, 'model call'),
      plural(totals.tool_calls, 'tool call'),
      totals.input_tokens === undefined ? undefined : `${compact(totals.input_tokens)} tokens in`,
      totals.output_tokens === undefined ? undefined : `${compact(totals.output_tokens)} out`,
      totals.held_ms === undefined || totals.held_ms < 1 ? undefined : `${duration(totals.held_ms)} held`,
      totals.cost === undefined ? undefined : `cost ${totals.cost.toPrecision(3)}`,
      totals.side === undefined ? undefined : sideUsageText(totals.side),
    ]
      .filter((part) => part !== undefined)
      .join(' · '),
    { style: 'dim' },
  );
}
