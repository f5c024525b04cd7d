/**
 * Draws the axis on its canvas. Caches everything except the selection, until the events or the visible range change.
 */
import type { Range } from '../scale.ts';
import { type AxisMark, type Scene, SIZES, xIn } from './scene.ts';

/** How the axis is drawn: in full, or as a bar. */
export interface AxisForm {
  readonly heightOf: (scene: Scene) => number;
  /** Draws everything except what is behind it. */
  readonly paint: (canvas: CanvasRenderingContext2D, scene: Scene) => void;
  /** Draws the selection, which changes often. */
  readonly paintBehind: (canvas: CanvasRenderingContext2D, scene: Scene) => void;
}

export interface Picture {
  readonly scene: Scene;
  /** Range that the user is dragging. */
  readonly dragged: Range | undefined;
}

export class AxisPicture {
  readonly #form: AxisForm;
  /** The cached drawing, and its inputs. */
  readonly #kept = document.createElement('canvas');
  #keptOf: { readonly scene: Scene; readonly version: number; readonly ratio: number } | undefined;

  constructor(form: AxisForm) {
    this.#form = form;
  }

  paint(canvas: HTMLCanvasElement, { scene, dragged }: Picture): void {
    const ratio = window.devicePixelRatio;
    const { width, colours } = scene;
    const height = this.#form.heightOf(scene);
    const context = contextOf(canvas, width, height, ratio);
    if (context === null) return;
    this.#keep(scene, height, ratio);
    context.clearRect(0, 0, width, height);
    this.#form.paintBehind(context, scene);
    context.drawImage(this.#kept, 0, 0, width, height);
    if (dragged === undefined) return;
    const [from, to] = [xIn(scene, dragged.from), xIn(scene, dragged.to)];
    context.strokeStyle = colours.focus;
    context.lineWidth = 1;
    context.strokeRect(Math.min(from, to) + 0.5, SIZES.minimap + 0.5, Math.abs(to - from), height - SIZES.minimap - 1);
  }

  #keep(scene: Scene, height: number, ratio: number): void {
    const { version } = scene.lanes;
    if (
      this.#keptOf !== undefined &&
      this.#keptOf.version === version &&
      this.#keptOf.ratio === ratio &&
      isSamePicture(this.#keptOf.scene, scene)
    )
      return;
    const context = contextOf(this.#kept, scene.width, height, ratio);
    if (context === null) return;
    this.#form.paint(context, scene);
    this.#keptOf = { scene, version, ratio };
  }
}

/** In CSS pixels; the canvas may have more device pixels. */
function contextOf(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  ratio: number,
): CanvasRenderingContext2D | null {
  const [x, y] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== x || canvas.height !== y) {
    canvas.width = x;
    canvas.height = y;
  }
  const context = canvas.getContext('2d');
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

function isSamePicture(a: Scene, b: Scene): boolean {
  return (
    a.lanes === b.lanes &&
    a.width === b.width &&
    a.gutter === b.gutter &&
    a.colours === b.colours &&
    a.scale === b.scale &&
    a.diverges?.at === b.diverges?.at &&
    isSameRange(a.range, b.range) &&
    isSameRange(a.whole, b.whole) &&
    isSameMarks(a.marks, b.marks) &&
    (a.now === b.now || b.lanes.model.holdsAt().length === 0)
  );
}

function isSameRange(a: Range, b: Range): boolean {
  return a.from === b.from && a.to === b.to;
}

function isSameMarks(a: readonly AxisMark[], b: readonly AxisMark[]): boolean {
  return a.length === b.length && a.every(({ kind, at }, index) => b[index]?.kind === kind && b[index].at === at);
}
