/** Parses terminal output: keeps colors and styles (ECMA-48 SGR), and drops all other control sequences. */

export interface AnsiSpan {
  readonly text: string;
  /** Index of a terminal color, 0 to 15. */
  readonly colour?: number;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly underline?: boolean;
}

interface Style {
  colour: number | undefined;
  bold: boolean;
  dim: boolean;
  underline: boolean;
}

/** CSI sequences, OSC sequences with their terminator, and single escapes. */
const SEQUENCE = /\u001b\[([0-9;:]*)[ -/]*([@-~])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\-_]/g;

export function ansiSpans(text: string): AnsiSpan[] {
  const spans: AnsiSpan[] = [];
  const style: Style = { colour: undefined, bold: false, dim: false, underline: false };
  let at = 0;
  const push = (to: number): void => {
    if (to > at)
      spans.push({
        text: text.slice(at, to),
        ...(style.colour === undefined ? {} : { colour: style.colour }),
        ...(style.bold ? { bold: true } : {}),
        ...(style.dim ? { dim: true } : {}),
        ...(style.underline ? { underline: true } : {}),
      });
  };
  for (const match of text.matchAll(SEQUENCE)) {
    push(match.index);
    at = match.index + match[0].length;
    if (match[2] === 'm') apply(style, (match[1] ?? '').split(/[;:]/).map(Number));
  }
  push(text.length);
  return spans;
}

function apply(style: Style, codes: readonly number[]): void {
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) Object.assign(style, { colour: undefined, bold: false, dim: false, underline: false });
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 4) style.underline = true;
    else if (code === 22) Object.assign(style, { bold: false, dim: false });
    else if (code === 24) style.underline = false;
    else if (code >= 30 && code <= 37) style.colour = code - 30;
    else if (code >= 90 && code <= 97) style.colour = code - 90 + 8;
    else if (code === 39) style.colour = undefined;
    else if (code === 38 || code === 48) {
      // Themes define only 16 colors. Other colors of the palette and true colors are ignored.
      const palette = codes[i + 1] === 5 ? codes[i + 2] : undefined;
      if (code === 38 && palette !== undefined && palette < 16) style.colour = palette;
      i += codes[i + 1] === 5 ? 2 : 4;
    }
  }
}
