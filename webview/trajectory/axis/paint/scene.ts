/** The data, size, and colors for drawing the time axis. */
import { troubleOf } from '../../../../src/trace/trouble.ts';
import type { Idle } from '../idle.ts';
import type { Item, Lane, Lanes } from '../lanes.ts';
import type { Range, TimeScale } from '../scale.ts';

export const SIZES = {
  minimap: 22,
  clock: 16,
  flags: 18,
  model: 22,
  tools: 34,
  agent: 22,
  world: 16,
  infra: 20,
} as const;
export const BAR = 12;
export const INNER_BAR = 8;
export const MIN_BAR = 6;

export interface Colours {
  readonly text: string;
  readonly dim: string;
  readonly line: string;
  /** Color of the lines below the clock, behind everything. */
  readonly grid: string;
  readonly background: string;
  readonly model: string;
  readonly tool: string;
  readonly agent: string;
  readonly error: string;
  readonly world: string;
  readonly infra: string;
  readonly held: string;
  readonly note: string;
  readonly focus: string;
  readonly selection: string;
  readonly font: string;
}

export function readColours(element: Element): Colours {
  const style = getComputedStyle(element);
  const get = (name: string): string => style.getPropertyValue(name).trim() || 'transparent';
  return {
    text: get('--vscode-foreground'),
    dim: get('--axis-dim'),
    line: get('--vscode-panel-border'),
    grid: get('--axis-grid'),
    background: get('--vscode-editor-background'),
    model: get('--bar-model'),
    tool: get('--bar-tool'),
    agent: get('--bar-agent'),
    error: get('--outcome-failed'),
    world: get('--vscode-gitDecoration-modifiedResourceForeground'),
    infra: get('--outcome-infrastructure'),
    held: get('--outcome-held'),
    note: get('--vscode-charts-orange'),
    focus: get('--vscode-focusBorder'),
    selection: get('--vscode-list-inactiveSelectionBackground'),
    font: get('--vscode-font-family'),
  };
}

/** Returns the color of a model or tool call. */
export function callColour(colours: Colours, { form, span }: Pick<Item, 'form' | 'span'>): string {
  const trouble = troubleOf(span);
  return trouble === 'error'
    ? colours.error
    : trouble === 'interrupted'
      ? colours.infra
      : form === 'model'
        ? colours.model
        : colours.tool;
}

/** A bookmark or a note, above the lanes. */
export interface AxisMark {
  readonly kind: 'bookmark' | 'note';
  readonly seq: number;
  readonly at: number;
  readonly text: string;
}

export interface Divergence {
  readonly at: number;
  /** undefined for the end. */
  readonly step: number | undefined;
}

export interface Scene {
  readonly lanes: Lanes;
  readonly marks: readonly AxisMark[];
  /** The visible range. */
  readonly range: Range;
  readonly whole: Range;
  /** Collapses idle times. */
  readonly scale: TimeScale<Idle>;
  /** Where it diverges from a passed attempt. */
  readonly diverges: Divergence | undefined;
  /** The range that the transcript shows. */
  readonly inView?: Range | undefined;
  /** The selected range. */
  readonly selected: Range | undefined;
  readonly width: number;
  /** Pixels to the left of the time range, for the lanes' names. */
  readonly gutter: number;
  readonly colours: Colours;
  /** The current time, for open items. */
  readonly now: number;
}

export const LANES_TOP = SIZES.minimap + SIZES.clock + SIZES.flags;

export function heightOf(lanes: readonly Lane[]): number {
  return LANES_TOP + lanes.reduce((sum, lane) => sum + SIZES[lane.kind], 0) + 4;
}

export function xIn({ gutter, range, scale, width }: Scene, value: number): number {
  return gutter + scale.x(value, range, width - gutter);
}

export function valueIn({ gutter, range, scale, width }: Scene, x: number): number {
  return scale.valueAt(x - gutter, range, width - gutter);
}

/** Returns the drawn left and right edges of an item. */
export function edgesOf(scene: Scene, item: Item): { readonly from: number; readonly to: number } {
  const from = xIn(scene, item.from);
  return { from, to: Math.max(from + MIN_BAR, xIn(scene, scene.lanes.endOf(item))) };
}
