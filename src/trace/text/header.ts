/** The header of a trajectory's text: its task, outcome, size, and origin. */
import { plural } from '../../common/text.ts';
import { compact, duration } from '../../common/units.ts';
import { RATE_NAMES, rateEntries, rateText } from '../control/rateText.ts';
import { heldText, holdSummary } from '../holder.ts';
import type { TrajectoryModel } from '../model.ts';
import type { EventOf } from '../schema.ts';
import type { HoldSummary } from '../summary.ts';
import { worldLabel } from './labels.ts';
import type { Page } from './page.ts';
import { scoreText } from './score.ts';
import type { Style } from './terminal.ts';
import { errorText, placeText } from './values.ts';

/** What the header says about the whole trajectory. */
export interface Header {
  readonly start: EventOf<'rollout.start'> | undefined;
  readonly end: EventOf<'rollout.end'> | undefined;
  /** Number of the newest step. */
  readonly steps: number;
  /** Input and output tokens. */
  readonly tokens: number;
  /** The model of the first call. */
  readonly model: string | undefined;
  /** The world that was opened. */
  readonly world: EventOf<'world.open'> | undefined;
  /** The current hold. */
  readonly hold: HoldSummary | undefined;
}

/** Returns the header of a complete trajectory. */
export function headerOf(model: TrajectoryModel): Header {
  const usage = model.usageAt();
  const hold = model.holdsAt().at(-1);
  return {
    start: model.start,
    end: model.end,
    steps: model.steps.length - 1,
    tokens: usage.input_tokens + usage.output_tokens,
    model: model.steps[1]?.model?.start.data.model,
    world: model.events.find((event): event is EventOf<'world.open'> => event.kind === 'world.open'),
    hold: hold === undefined ? undefined : holdSummary(hold.event),
  };
}

export function writeHeader(page: Page, header: Header, rollout: string | undefined): void {
  const { start, end, tokens } = header;
  const elapsed = end?.data.totals.ms;
  const [outcome, style] = outcomeOf(header);
  page.facts([
    { text: start === undefined ? 'trajectory' : `task ${start.data.task}`, style: 'bold' },
    ...(start === undefined ? [] : [{ text: `attempt ${start.data.attempt}` }]),
    ...(start?.data.part === undefined ? [] : [{ text: `part ${start.data.part}` }]),
    ...(start !== undefined && start.data.try > 1 ? [{ text: `try ${start.data.try}` }] : []),
    { text: outcome, style },
    ...(end === undefined || end.data.reward === null ? [] : [{ text: `reward ${scoreText(end.data.reward)}` }]),
    { text: plural(header.steps, 'step') },
    ...(elapsed === undefined ? [] : [{ text: duration(elapsed) }]),
    ...(tokens === 0 ? [] : [{ text: `${compact(tokens)} tokens` }]),
    ...(end?.data.touched === true ? [{ text: 'touched', style: 'yellow' as const }] : []),
  ]);
  const facts = [
    rollout === undefined ? undefined : `rollout ${rollout}`,
    start === undefined ? undefined : `batch ${start.data.batch}`,
    start?.data.model ?? header.model,
    header.world?.data.scenario === undefined ? undefined : `world ${worldLabel(header.world.data)}`,
    start?.data.seed === undefined ? undefined : `seed ${start.data.seed}`,
    start?.data.times === 'none' ? 'imported without times' : undefined,
  ].flatMap((text) => (text === undefined ? [] : [{ text, style: 'dim' as const }]));
  if (facts.length > 0) page.facts(facts);
  const rates = rateEntries(end?.data.rates ?? {});
  if (rates.length > 0)
    page.facts(
      rates.map(({ rate, count }) => ({ text: `${RATE_NAMES[rate]} ${rateText(count)}`, style: 'dim' as const })),
    );
  const error = end?.data.error;
  if (error !== undefined)
    page.line('✗', errorText(error), { style: 'red', labelStyle: 'red', note: placeText(error) });
}

function outcomeOf({ end, hold }: Header): [string, Style] {
  if (end === undefined)
    return hold === undefined ? ['▷ running', 'blue'] : [`‖ ${heldText(hold, Date.now())}`, 'yellow'];
  const { status, passed } = end.data;
  if (status === 'infrastructure') return ['⚠ infrastructure', 'yellow'];
  if (status === 'cancelled') return ['○ cancelled', 'dim'];
  const prefix = status === 'truncated' ? '◐ truncated, ' : '';
  if (passed === true) return [`${prefix === '' ? '● ' : prefix}passed`, 'green'];
  if (passed === false) return [`${prefix === '' ? '✗ ' : prefix}failed`, 'red'];
  return [`${prefix === '' ? '? ' : prefix}unscored`, 'yellow'];
}
