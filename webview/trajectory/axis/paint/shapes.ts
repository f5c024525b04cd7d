/** The small shapes of the time axis. */

import type { IconName } from '../../../components/marks/icon.tsx';
import { ICONS } from '../../../components/marks/icons.ts';
import type { Colours } from './scene.ts';

export interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function textFont(canvas: CanvasRenderingContext2D, colours: Colours, size: 10 | 11 = 11): void {
  canvas.font = `${size}px ${colours.font}`;
}

export function icon(
  canvas: CanvasRenderingContext2D,
  colours: Colours,
  name: IconName,
  x: number,
  y: number,
  size = 14,
): void {
  canvas.font = `${size}px codicon`;
  canvas.textAlign = 'left';
  canvas.fillText(String.fromCodePoint(ICONS[name]), x, y);
  textFont(canvas, colours);
}

export function cross(canvas: CanvasRenderingContext2D, colour: string, x: number, y: number): void {
  canvas.strokeStyle = colour;
  canvas.lineWidth = 1.5;
  canvas.beginPath();
  canvas.moveTo(x, y);
  canvas.lineTo(x + 6, y + 6);
  canvas.moveTo(x + 6, y);
  canvas.lineTo(x, y + 6);
  canvas.stroke();
}

/** Draws an outlined triangle, as high as a cross. */
/** Draws ≠. `x`, `y`: its left and top; it is 7 × 6. */
export function unequal(canvas: CanvasRenderingContext2D, colour: string, x: number, y: number): void {
  canvas.strokeStyle = colour;
  canvas.lineWidth = 1.25;
  canvas.beginPath();
  for (const line of [1.5, 4.5]) {
    canvas.moveTo(x, y + line);
    canvas.lineTo(x + 7, y + line);
  }
  canvas.moveTo(x + 1.5, y + 6.5);
  canvas.lineTo(x + 5.5, y - 0.5);
  canvas.stroke();
}

export function triangle(canvas: CanvasRenderingContext2D, colour: string, x: number, y: number): void {
  canvas.strokeStyle = colour;
  canvas.lineWidth = 1.5;
  canvas.beginPath();
  canvas.moveTo(x + 3.5, y);
  canvas.lineTo(x + 7, y + 6);
  canvas.lineTo(x, y + 6);
  canvas.closePath();
  canvas.stroke();
}

export function diamond(canvas: CanvasRenderingContext2D, colour: string, x: number, y: number): void {
  canvas.fillStyle = colour;
  canvas.beginPath();
  canvas.moveTo(x, y - 4);
  canvas.lineTo(x + 4, y);
  canvas.lineTo(x, y + 4);
  canvas.lineTo(x - 4, y);
  canvas.fill();
}

/** Draws a ribbon with a notch. */
export function bookmark(canvas: CanvasRenderingContext2D, colour: string, x: number, top: number): void {
  canvas.fillStyle = colour;
  canvas.beginPath();
  canvas.moveTo(x - 3.5, top);
  canvas.lineTo(x + 3.5, top);
  canvas.lineTo(x + 3.5, top + 10);
  canvas.lineTo(x, top + 7);
  canvas.lineTo(x - 3.5, top + 10);
  canvas.fill();
}

/** Draws a sheet with lines. */
export function note(canvas: CanvasRenderingContext2D, colour: string, x: number, top: number): void {
  canvas.strokeStyle = colour;
  canvas.lineWidth = 1;
  canvas.strokeRect(Math.round(x) - 4.5, top + 0.5, 9, 9);
  canvas.beginPath();
  for (const y of [3.5, 6.5]) {
    canvas.moveTo(Math.round(x) - 2, top + y);
    canvas.lineTo(Math.round(x) + 3, top + y);
  }
  canvas.stroke();
}

export function hatch(canvas: CanvasRenderingContext2D, colour: string, box: Area, gap = 5): void {
  const { x, y, width, height } = box;
  canvas.save();
  canvas.beginPath();
  canvas.rect(x, y, width, height);
  canvas.clip();
  canvas.strokeStyle = colour;
  canvas.lineWidth = 1.5;
  canvas.beginPath();
  for (let at = x - height; at < x + width; at += gap) {
    canvas.moveTo(at, y + height);
    canvas.lineTo(at + height, y);
  }
  canvas.stroke();
  canvas.restore();
}

export function outlined(canvas: CanvasRenderingContext2D, colour: string, box: Area): void {
  canvas.strokeStyle = colour;
  canvas.lineWidth = 1;
  canvas.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1);
}

/** Draws an infrastructure interruption: widely hatched, with an outline. */
export function broken(canvas: CanvasRenderingContext2D, colour: string, box: Area): void {
  hatch(canvas, colour, box, 7);
  outlined(canvas, colour, box);
}

export function dashed(canvas: CanvasRenderingContext2D, colour: string, box: Area): void {
  canvas.setLineDash([3, 2]);
  outlined(canvas, colour, box);
  canvas.setLineDash([]);
}

/** Returns black or white, whichever has more contrast with a color. */
export function inkOn(canvas: CanvasRenderingContext2D, colour: string): string {
  let ink = inks.get(colour);
  if (ink === undefined) inks.set(colour, (ink = inkFor(canvas, colour)));
  return ink;
}

const inks = new Map<string, string>();

function inkFor(canvas: CanvasRenderingContext2D, colour: string): string {
  canvas.fillStyle = '#000000';
  canvas.fillStyle = colour;
  const solid = typeof canvas.fillStyle === 'string' ? canvas.fillStyle : '#000000';
  const [red = 0, green = 0, blue = 0] = solid.startsWith('#')
    ? [1, 3, 5].map((at) => Number.parseInt(solid.slice(at, at + 2), 16))
    : (solid.match(/[\d.]+/g) ?? []).map(Number);
  const light = [red, green, blue].map((value) =>
    value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * (light[0] ?? 0) + 0.7152 * (light[1] ?? 0) + 0.0722 * (light[2] ?? 0) > 0.18 ? '#000000' : '#ffffff';
}

/** Writes text into the visible part of a bar if it fits. Returns whether it did. */
export function inside(
  canvas: CanvasRenderingContext2D,
  colour: string,
  text: string,
  box: { readonly from: number; readonly to: number; readonly y: number },
): boolean {
  const width = canvas.measureText(text).width;
  if (box.to - box.from < width + 8) return false;
  canvas.fillStyle = colour;
  canvas.textAlign = 'center';
  canvas.fillText(text, (box.from + box.to) / 2, box.y);
  canvas.textAlign = 'left';
  return true;
}
