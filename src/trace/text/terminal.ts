/** Text for a terminal: safe to print, wrapped to its width, with or without color. */
import { harmless } from '../../common/harmless.ts';
import { joinedLines } from '../../common/text.ts';

export type Style = 'dim' | 'bold' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan';

const CODES: Readonly<Record<Style, number>> = {
  dim: 2,
  bold: 1,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
};

export type Paint = (text: string, style: Style | undefined) => string;

export function painter(color: boolean): Paint {
  return (text, style) => (color && style !== undefined && text !== '' ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text);
}

/** Makes text safe to print. Its columns can be counted, because tabs become spaces. */
export function harmlessBlock(text: string): string {
  return harmless(text).replaceAll('\t', '  ');
}

/** Like `harmlessBlock`, on one line. */
export function harmlessLine(text: string): string {
  return joinedLines(harmlessBlock(text), ' ');
}

const WIDE = new RegExp(
  String.raw`[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6` +
    String.raw`\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]`,
  'u',
);
/** Text in which each character is one column: most text is. */
const PLAIN = /^[ -~]*$/;
const COMBINING = /[\p{Mn}\u200b-\u200d\ufe0f]/u;

/** Returns the number of columns of a text. */
export function columns(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let count = 0;
  for (const character of text) count += COMBINING.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return count;
}

/** Wraps text at spaces to lines of at max `width` columns. Keeps existing line breaks. */
export function wrap(text: string, width: number): string[] {
  return text
    .split('\n')
    .flatMap((line) => (line.length <= width && columns(line) <= width ? [line] : wrapLine(line, width)));
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = [];
  const indent = /^ */.exec(line)?.[0] ?? '';
  let current = '';
  let used = 0;
  for (const word of line.match(/ *[^ ]+| +$/g) ?? []) {
    const size = columns(word);
    if (used + size <= width) {
      current += word;
      used += size;
      continue;
    }
    if (current.trim() !== '') lines.push(current);
    current = indent.length < width / 2 ? indent : '';
    used = current.length;
    const isPlain = PLAIN.test(word);
    for (const character of word.trimStart()) {
      // a word longer than the line is broken anywhere
      const wide = isPlain ? 1 : columns(character);
      if (used + wide > width) {
        lines.push(current);
        current = '';
        used = 0;
      }
      current += character;
      used += wide;
    }
  }
  if (current.trim() !== '' || lines.length === 0) lines.push(current);
  return lines;
}

/** Returns at max `max` lines, and a line with the number of omitted lines. */
export function shorten(lines: readonly string[], max: number): string[] {
  const hidden = lines.length - max;
  return hidden <= 1 ? [...lines] : [...lines.slice(0, max), `… ${hidden} more lines`];
}
