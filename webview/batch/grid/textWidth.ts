/** Measures texts as the grid draws them. */

let canvas: CanvasRenderingContext2D | null | undefined;

/** Returns the width of a text in pixels. */
export function textWidth(text: string): number {
  canvas ??= document.createElement('canvas').getContext('2d');
  if (canvas === null) return 0;
  const font = `13px ${getComputedStyle(document.body).fontFamily}`;
  if (canvas.font !== font) canvas.font = font;
  return canvas.measureText(text).width;
}
