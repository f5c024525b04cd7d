/** Glyphs on a canvas. */
import type { Outcome } from '../../../src/trace/outcome.ts';
import { SHAPES } from './glyphShapes.ts';

type GlyphColours = Readonly<Record<Outcome, string>>;

const paths = new Map<Outcome, Path2D>();

/** Draws into the square whose left upper corner is at `x`, `y`. */
export function drawGlyph(canvas: CanvasRenderingContext2D, outcome: Outcome, x: number, y: number, size: number, colours: GlyphColours): void {
  let path = paths.get(outcome);
  if (path === undefined) paths.set(outcome, (path = new Path2D(SHAPES[outcome].path)));
  const scale = size / 12;
  canvas.save();
  canvas.translate(x, y);
  canvas.scale(scale, scale);
  const shape = SHAPES[outcome];
  if (shape.fill) {
    canvas.fillStyle = colours[outcome];
    canvas.fill(path);
  }
  if (!shape.fill || outcome === 'truncated') {
    canvas.strokeStyle = colours[outcome];
    canvas.lineWidth = 1.5;
    canvas.setLineDash(shape.dashed === true ? [2, 1.5] : []);
    canvas.stroke(path);
  }
  canvas.restore();
}
