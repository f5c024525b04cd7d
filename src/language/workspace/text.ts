/** Converts text positions: config uses 1-based lines and columns, the protocol 0-based. Both use UTF-16 units. */
import type { Range as LspRange, Position } from 'vscode-languageserver-types';
import type { Range } from '../../config/source/problem.ts';

export function lspRange({ line, column, endLine, endColumn }: Range): LspRange {
  return { start: { line: line - 1, character: column - 1 }, end: { line: endLine - 1, character: endColumn - 1 } };
}

export function rangeOf({ start, end }: LspRange): Range {
  return { line: start.line + 1, column: start.character + 1, endLine: end.line + 1, endColumn: end.character + 1 };
}

/** Returns whether a position touches a range, including its end. */
export function touches({ line, column, endLine, endColumn }: Range, position: Position): boolean {
  const [row, at] = [position.line + 1, position.character + 1];
  return (row > line || (row === line && at >= column)) && (row < endLine || (row === endLine && at <= endColumn));
}

/** Maps offsets and positions of a text. */
export class Lines {
  readonly text: string;
  readonly #starts: number[] = [0];

  constructor(text: string) {
    this.text = text;
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#starts.push(at + 1);
  }

  get count(): number {
    return this.#starts.length;
  }

  /** Returns a zero-based line without its line break. */
  line(index: number): string {
    const start = this.#starts[index];
    if (start === undefined) return '';
    const next = this.#starts[index + 1];
    return this.text.slice(start, next === undefined ? undefined : next - 1).replace(/\r$/, '');
  }

  offsetAt({ line, character }: Position): number {
    const start = this.#starts[line];
    return start === undefined
      ? this.text.length
      : Math.min(start + character, this.#starts[line + 1] ?? this.text.length);
  }

  positionAt(offset: number): Position {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low, character: offset - (this.#starts[low] ?? 0) };
  }

  /** Returns a config range for a part of the text. */
  range(offset: number, length: number): Range {
    return rangeOf({ start: this.positionAt(offset), end: this.positionAt(offset + length) });
  }

  slice({ line, column, endLine, endColumn }: Range): string {
    return this.text.slice(
      this.offsetAt({ line: line - 1, character: column - 1 }),
      this.offsetAt({ line: endLine - 1, character: endColumn - 1 }),
    );
  }
}
