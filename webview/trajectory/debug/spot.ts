/** The spots of breakpoints, and their conversion to gates of a batch and to breakpoints of the editor. */
import type { Breakpoint } from '../../../src/protocol/commands.ts';
import type { EditorBreakpoint } from '../../../src/protocol/page.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import type { Row } from '../steps/rows.ts';

/** Where a breakpoint is: all calls of a tool, all model calls, the model call of a step, or one recorded event. */
export type Spot =
  | { readonly on: 'tool'; readonly name: string }
  | { readonly on: 'model' }
  | { readonly on: 'step'; readonly step: number }
  | { readonly on: 'event'; readonly seq: number };

/** The condition of a breakpoint. */
export interface SpotCondition {
  readonly when?: string;
  /** The first hit that holds. */
  readonly hits?: number;
  /** Logs this message instead of holding. */
  readonly log?: string;
}

/** Prefix of the IDs of breakpoints that pages set in a batch. */
export const PAGE_PREFIX = 'page.';
/** The name for every model call, as in the editor. */
const MODEL = 'model';

export function spotOfRow(model: TrajectoryModel, row: Row): Spot | undefined {
  const call = model.span(row.call ?? (row.kind === 'hold' ? (model.event(row.seq)?.span ?? row.seq) : row.seq));
  if (call?.kind === 'tool') return { on: 'tool', name: call.start.data.name };
  // Breakpoints of rows are for calls of agents.
  if (call?.kind === 'model' && call.start.data.side !== undefined) return undefined;
  if (row.kind === 'step' || call?.kind === 'model') {
    const step = model.stepOf(row.seq)?.index;
    return step === undefined ? undefined : { on: 'step', step };
  }
  return row.kind === 'message' || row.kind === 'agent' ? { on: 'event', seq: row.seq } : undefined;
}

export function keyOf(spot: Spot): string {
  switch (spot.on) {
    case 'tool':
      return `tool.${spot.name}`;
    case 'model':
      return MODEL;
    case 'step':
      return `step.${spot.step}`;
    case 'event':
      return `event.${spot.seq}`;
  }
}

export function nameOf(spot: Spot): string {
  switch (spot.on) {
    case 'tool':
      return spot.name;
    case 'model':
      return 'every model call';
    case 'step':
      return `step ${spot.step}`;
    case 'event':
      return `event ${spot.seq}`;
  }
}

/** Converts a spot to a breakpoint of a batch; undefined for a recorded event, which does not recur. */
export function gateOf(spot: Spot, { when, hits, log }: SpotCondition): Breakpoint | undefined {
  if (spot.on === 'event') return undefined;
  const narrowed = { ...(hits === undefined || hits < 2 ? {} : { hits }), ...(log === undefined ? {} : { log }) };
  const id = `${PAGE_PREFIX}${keyOf(spot)}`;
  if (spot.on === 'tool')
    return { id, side: 'before', tool: spot.name, ...(when === undefined ? {} : { when }), ...narrowed };
  const own = spot.on === 'step' ? `step == ${spot.step}` : undefined;
  const both = [own, when].filter((part) => part !== undefined);
  return {
    id,
    side: 'before',
    kind: 'model',
    ...(both.length === 0
      ? {}
      : { when: both.length === 1 ? (both[0] ?? '') : both.map((part) => `(${part})`).join(' && ') }),
    ...narrowed,
  };
}

/** Converts a breakpoint of a batch to its spot; undefined if no row shows it. */
export function spotOfGate({
  side,
  tool,
  kind,
  when,
  hits,
  log,
}: Breakpoint): { readonly spot: Spot; readonly narrowing: SpotCondition } | undefined {
  if (side !== 'before') return undefined;
  const rest = { ...(hits === undefined ? {} : { hits }), ...(log === undefined ? {} : { log }) };
  if (tool !== undefined)
    return { spot: { on: 'tool', name: tool }, narrowing: { ...(when === undefined ? {} : { when }), ...rest } };
  if (kind !== 'model') return undefined;
  const step = /^\(?step == (\d+)(?:\) && \((.*)\))?$/s.exec(when ?? '');
  if (step !== null)
    return {
      spot: { on: 'step', step: Number(step[1]) },
      narrowing: { ...(step[2] === undefined ? {} : { when: step[2] }), ...rest },
    };
  return { spot: { on: 'model' }, narrowing: { ...(when === undefined ? {} : { when }), ...rest } };
}

/** Returns how the editor identifies a spot: by the tool's name, or by the recorded event. */
export function editorOn(spot: Spot, model: TrajectoryModel, rollout: string): EditorBreakpoint['on'] | undefined {
  if (spot.on === 'tool') return { name: spot.name };
  if (spot.on === 'model') return { name: MODEL };
  const seq = spot.on === 'event' ? spot.seq : model.step(spot.step)?.model?.seq;
  return seq === undefined ? undefined : { rollout, seq };
}

/** Returns undefined for a breakpoint of another rollout. */
export function spotOfEditor({ on }: EditorBreakpoint, model: TrajectoryModel, rollout: string): Spot | undefined {
  if ('name' in on) return on.name === MODEL ? { on: 'model' } : { on: 'tool', name: on.name };
  if (on.rollout !== rollout) return undefined;
  const span = model.span(on.seq);
  return span?.kind === 'model' && span.start.data.side === undefined
    ? { on: 'step', step: span.step }
    : { on: 'event', seq: on.seq };
}
