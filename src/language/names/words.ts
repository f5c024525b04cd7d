/** Finds names in prose. */
import type { Position } from 'vscode-languageserver-types';
import type { Range } from '../../config/source/problem.ts';
import type { Lines } from '../workspace/text.ts';
import { escapePattern, type Span } from './codeNames.ts';

/** Returns the range of a name without quotes, folders, and surrounding text. */
export function nameRange(lines: Lines, range: Range, name: string): Range | undefined {
  const text = lines.slice(range);
  const at = text.lastIndexOf(name);
  return at === -1
    ? undefined
    : lines.range(lines.offsetAt({ line: range.line - 1, character: range.column - 1 }) + at, name.length);
}

/** Returns the name at a position. */
export function wordAt(
  lines: Lines,
  { line, character }: Position,
): { readonly text: string; readonly range: Range } | undefined {
  for (const { 0: text, index } of lines.line(line).matchAll(/[A-Za-z_$][\w$-]*/g)) {
    if (index <= character && character <= index + text.length)
      return {
        text,
        range: { line: line + 1, column: index + 1, endLine: line + 1, endColumn: index + text.length + 1 },
      };
  }
  return undefined;
}

/**
 * Finds tool names in prose. Names that are common words, such as `search`, count only in backticks, in quotes, or
 * before `(`.
 */
export function toolWords(text: string, name: string): Span[] {
  const plain = /^[a-z]+$/.test(name);
  return [...text.matchAll(new RegExp(`(?<![\\w$.-])${escapePattern(name)}(?![\\w$-])`, 'g'))].flatMap(({ index }) => {
    const end = index + name.length;
    const isMarked = (/[`'"]$/.test(text.slice(0, index)) && /^[`'"]/.test(text.slice(end))) || text[end] === '(';
    return plain && !isMarked ? [] : [{ start: index, end }];
  });
}
