/** Draws glyphs on a canvas. */
import type { Outcome } from '../../../src/trace/outcome.ts';
import { LINE_WIDTH, SHAPES } from './glyphShapes.ts';

type GlyphColours = Readonly<Record<Outcome, string>>;

interface Paths {
  readonly fill: Path2D | undefined;
  readonly line: Path2D | undefined;
}

const paths = new Map<Outcome, Paths>();

/** Draws a glyph. `x`, `y`: its upper left corner. */
export function drawGlyph(
  canvas: CanvasRenderingContext2D,
  outcome: Outcome,
  x: number,
  y: number,
  size: number,
  colours: GlyphColours,
): void {
  const { fill, line } = pathsOf(outcome);
  const scale = size / 12;
  canvas.save();
  canvas.translate(x, y);
  canvas.scale(scale, scale);
  if (fill !== undefined) {
    canvas.fillStyle = colours[outcome];
    canvas.fill(fill);
  }
  if (line !== undefined) {
    canvas.strokeStyle = colours[outcome];
    canvas.lineWidth = LINE_WIDTH;
    canvas.setLineDash(SHAPES[outcome].dashed === true ? [2, 1.5] : []);
    canvas.stroke(line);
  }
  canvas.restore();
}

function pathsOf(outcome: Outcome): Paths {
  let cached = paths.get(outcome);
  if (cached === undefined) {
    const { fill, line } = SHAPES[outcome];
    cached = {
      fill: fill === undefined ? undefined : new Path2D(fill),
      line: line === undefined ? undefined : new Path2D(line),
    };
    paths.set(outcome, cached);
  }
  return cached;
}
